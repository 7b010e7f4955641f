"""Changes of the inputs' level within the run."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured
from neuraldbg.measures.inputs import model_inputs
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def _shift(steps: np.ndarray, values: np.ndarray, scale: np.ndarray | float) -> tuple[float, int]:
    """The size of the largest lasting change of level, in units of ``scale``, and the step of the earliest near it."""
    found: list[tuple[float, int]] = []
    for index in range(8, values.size - 5, max(1, values.size // 200)):
        before, after = values[:index], values[index : index + 40]
        if not np.isfinite(before).all():
            break  # what left the range of numbers has no level
        center = float(np.median(before[-40:]))
        within = max(float(np.percentile(np.abs(before - np.median(before)), 90)), 1e-12)
        change = abs(float(np.median(after)) - center)
        if change > 5 * within:
            unit = float(np.median(scale[:index])) if isinstance(scale, np.ndarray) else scale
            found.append((change / max(unit, 1e-12), int(steps[index])))
    if not found:
        return (0.0, 0)
    largest = max(size for size, _ in found)
    return largest, next(step for size, step in found if size >= 0.5 * min(largest, 2.0))


def input_level_shifted(run: Run) -> Finding:
    """The mean or spread of the inputs changes level at one step and stays changed."""
    means = model_inputs(run, "input.mean")
    best = (0.0, 0, "")
    seen = False
    for name, (steps, spread) in model_inputs(run, "input.std").items():
        if spread.size < 20 or name not in means:
            continue
        seen = True
        by_mean = _shift(*means[name], scale=spread)
        by_spread = _shift(steps, np.log(np.maximum(spread, 1e-12)), scale=math.log(2.0))
        for size, step in (by_mean, by_spread):
            best = max(best, (size, step, name))
    if not seen:
        return unmeasured()
    if best[0] <= 1.0:
        return absent()
    step = _first_of_shift(run, best[2], best[1])
    return present(f"the statistics of input {best[2]} change at step {step} and stay changed", step=step, size=best[0])


def _first_of_shift(run: Run, name: str, around: int) -> int:
    """The step of the largest single change within the rows that the comparison looked ahead."""
    best = (0.0, around)
    for quantity in ("input.std", "input.mean"):
        steps, values = run.series(quantity).of_kind("input").column(name)
        at = int(np.searchsorted(steps, around))
        near = values[max(0, at - 3) : at + 42]
        if near.size > 3:
            jumps = np.abs(np.diff(near))
            usual = max(
                float(np.median(np.abs(np.diff(values[: at + 1])))) if at > 2 else float(np.median(jumps)), 1e-12
            )
            index = int(np.argmax(jumps > max(6 * usual, 0.5 * float(jumps.max()))))
            size = float(jumps[index]) / usual
            if size > best[0]:
                best = (size, int(steps[max(0, at - 3) + index + 1]))
    return best[1]
