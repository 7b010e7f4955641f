"""What enters the model, and the targets, over time."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from neuraldbg.measures.run import Run

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Rows before a row that make its usual range.
_WINDOW = 40


def model_inputs(run: Run, quantity: str) -> dict[str, tuple[IntArray, FloatArray]]:
    """Steps and values of a quantity by floating input; token ids are left out."""
    series = run.series(quantity).of_kind("input")
    kinds = run.series("input.integer").of_kind("input")
    ids = {name for index, name in enumerate(kinds.names) if np.nanmax(kinds.values[:, index], initial=0.0) > 0}
    return {name: series.column(name) for name in series.names if name not in ids}


def first_trouble(run: Run) -> int | None:
    """Step of the first loss or gradient that is not finite; None when all were finite."""
    return min((step for step in (run.non_finite_step, run.bad_step) if step is not None), default=None)


def inputs_seen_at(run: Run, step: int) -> bool:
    """Whether all inputs of a step were looked at for values that are not finite.

    Said by the alarm of that step, which reads what was kept of it; or each floating input has a count of that step.
    """
    facts = (*run.trace.facts("nonfinite.loss"), *run.trace.facts("nonfinite.gradient"))
    if any(fact.step == step and fact.data.get("inputs_seen") for fact in facts):
        return True
    series = run.series("input.nonfinite").of_kind("input")
    here = series.values[series.steps == step]
    return bool(here.size) and bool((~np.isnan(here)).any(axis=0).all())


def outlier(values: FloatArray, warmup: int, need_return: bool) -> tuple[int, float] | None:
    """Row that lies furthest above the rows before it, as a multiple of their median, or None.

    It has to be six times the median and 2.5 times the largest of the forty rows before; with ``need_return`` the rows
    after it have to be ordinary again, else it is a change of level.
    """
    best: tuple[int, float] | None = None
    for row in range(warmup, values.size):
        before, after = values[max(0, row - _WINDOW) : row], values[row + 1 : row + 6]
        middle, top = float(np.median(before)), float(before.max())
        if not (middle > 0 and math.isfinite(values[row]) and values[row] > 6 * middle and values[row] > 2.5 * top):
            continue
        if need_return and after.size and float(np.median(after)) >= 3 * top:
            continue
        if best is None or values[row] / middle > best[1]:
            best = (row, float(values[row] / middle))
    return best


def level_shift(values: FloatArray, unit: float) -> tuple[int, float] | None:
    """Row of the largest lasting change of level and its size in ``unit``; None when no change exceeds the noise.

    The median of the forty rows after a split against that of the forty before, which has to exceed five times the
    ninetieth percentile of the deviations before it.
    """
    best: tuple[int, float] | None = None
    for row in range(8, values.size - 5, max(1, values.size // 200)):
        before, after = values[max(0, row - _WINDOW) : row], values[row : row + _WINDOW]
        if not np.isfinite(before).all():
            continue  # what left the range of numbers has no level
        middle = float(np.median(before))
        within = max(float(np.percentile(np.abs(before - middle), 90)), 1e-12)
        change = abs(float(np.median(after)) - middle)
        if change > 5 * within and (best is None or change / unit > best[1]):
            best = (row, change / max(unit, 1e-12))
    if best is None:
        return None
    # The split that is best for medians may lie some rows beside the step itself.
    near = np.arange(max(1, best[0] - 10), min(values.size, best[0] + 10))
    jumps = np.abs(values[near] - values[near - 1])
    row = int(near[int(jumps.argmax())]) if jumps.size and jumps.max() > 3 * float(np.median(jumps)) else best[0]
    return row, best[1]


def target_scale(run: Run) -> tuple[float, float] | None:
    """Mean and spread of regression targets over the first fifty observed steps; None for other losses."""
    curve = run.loss
    if curve is None or curve.kind not in ("mse", "l1", "smooth_l1", "huber", "handmade_square", "handmade_absolute"):
        return None
    _, spread = run.series("target.std").column(curve.place.name)
    _, mean = run.series("target.mean").column(curve.place.name)
    spread, mean = spread[np.isfinite(spread)][:50], mean[np.isfinite(mean)][:50]
    if not spread.size or not mean.size:
        return None
    return float(np.median(mean)), math.sqrt(float(np.mean(spread**2)) + float(np.var(mean)))


def targets_are_inputs(run: Run) -> bool:
    """Whether the regression target is the model's input itself: mean and spread agree in most observed steps."""
    curve = run.loss
    if curve is None:
        return False
    steps, spreads = run.series("target.std").column(curve.place.name)
    _, means = run.series("target.mean").column(curve.place.name)
    known = np.isfinite(spreads) & np.isfinite(means)
    target = dict(zip(steps[known].tolist(), zip(means[known].tolist(), spreads[known].tolist())))
    for name, (steps, means) in model_inputs(run, "input.mean").items():
        _, spreads = run.series("input.std").of_kind("input").column(name)
        same = [
            max(abs(mean - target[step][0]), abs(spread - target[step][1])) <= 0.01 * spread
            for step, mean, spread in zip(steps.tolist(), means.tolist(), spreads.tolist())
            if step in target
        ]
        if same and float(np.mean(same)) > 0.8:
            return True
    return False


def recurrence(run: Run) -> float | None:
    """How often the same few samples come back: batches seen per distinct largest entry; None where it can't be told.

    The largest entry of a batch is that of one of its samples, so batches of ever new samples never repeat it, and
    those of a small set have few. One value in nearly all batches is a bound of the data (1, 255) and says nothing.
    """
    found = None
    for _, values in model_inputs(run, "input.absmax").values():
        values = values[np.isfinite(values)]
        if values.size < 20:
            continue
        _, counts = np.unique(values, return_counts=True)
        if counts.size < 3 or counts.max() > 0.9 * values.size:
            continue
        found = max(found or 0.0, values.size / counts.size)
    return found


#: Share of its start to which a loss falls when the scale of the data did no harm that matters.
_LEARNED = 0.38


def learns_despite_scale(run: Run) -> bool:
    """Whether a run learns whatever the scale of its data: it has, or it is well on its way.

    On its way does not count where the targets lie far from zero for their spread: a prediction that crawls there
    lowers the loss steadily and has learned nothing.
    """
    if run.learned_to(_LEARNED):
        return True
    scale = target_scale(run)
    return run.learns_steadily() and (scale is None or abs(scale[0]) < 2 * scale[1])
