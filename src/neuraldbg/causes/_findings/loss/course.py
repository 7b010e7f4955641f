"""The shape of the loss curve on its way."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.measures.loss_curve import FEW_ROWS
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import level_before
from neuraldbg.records import Finding


def loss_fell_then_stopped_early(run: Run) -> Finding:
    """The loss fell at first, and hardly in the second half, while it is still high."""
    curve = run.loss
    if curve is None or curve.count < 40:
        return unmeasured()
    if run.bad_step is not None or run.adversarial:
        return absent()
    values = curve.finite
    third = values.size // 3
    middle, last = float(np.median(values[third : 2 * third])), float(np.median(values[2 * third :]))
    fell = curve.first - middle
    later = middle - last
    high = curve.end > 0.3 * abs(curve.first)
    return when(
        high and fell > 3 * curve.noise / math.sqrt(third) and abs(later) < 0.1 * max(fell, 1e-12) + 0.01 * abs(middle),
        f"the loss fell from {curve.first:.3g} to {middle:.3g} in the first third and then stayed",
        middle=middle,
        end=last,
    )


def loss_still_falling_slowly(run: Run) -> Finding:
    """A steady fall that has covered little of the way."""
    curve = run.loss
    if curve is None or curve.count < FEW_ROWS:
        return unmeasured()
    if run.bad_step is not None or run.adversarial:
        return absent()
    parts = [float(np.mean(part)) for part in np.array_split(curve.finite, 4)]
    steady = all(parts[i] > parts[i + 1] for i in range(3))
    little = parts[3] > 0.7 * parts[0] > 0
    return when(steady and little, f"the loss falls steadily and slowly, from {parts[0]:.4g} to {parts[3]:.4g}")


def loss_spiked(run: Run) -> Finding:
    """A single rise to more than three times the level before, from one step to the next few."""
    curve = run.loss
    if curve is None or curve.count < 30:
        return unmeasured()
    if run.adversarial:
        return absent()
    values = curve.values
    best = (0.0, 0)
    level = level_before(values, width=20, at_least=8)
    high = np.isfinite(values) & (level > 0) & (np.where(np.isfinite(values), values, 0.0) > 3 * level)
    for index in np.flatnonzero(high):
        if index < 12:
            continue
        before = values[max(0, index - 20) : index]
        before = before[np.isfinite(before)]
        middle = float(np.median(before))
        spread = float(np.median(np.abs(before - middle))) * 1.48
        if middle > 0 and values[index] > 3 * middle and values[index] > middle + 10 * spread:
            best = max(best, (values[index] / middle, int(curve.steps[index])))
    return when(
        best[0] > 0, f"at step {best[1]} the loss jumped to {best[0]:.1f} times its level", step=best[1], ratio=best[0]
    )


def loss_noisy(run: Run) -> Finding:
    """The loss swings by more than a third of its level from step to step."""
    curve = run.loss
    if curve is None or curve.count < FEW_ROWS:
        return unmeasured()
    level = abs(float(np.median(curve.finite)))
    return when(
        curve.noise > 0.35 * level, f"the loss swings by {curve.noise:.3g} around {level:.3g}", noise=curve.noise
    )


def loss_swings_grow(run: Run) -> Finding:
    """The swings of the loss grow while its level does not fall."""
    curve = run.loss
    if curve is None or curve.count < 40:
        return unmeasured()
    half = curve.count // 2
    early, late = curve.finite[:half], curve.finite[half:]
    swing_early = float(np.median(np.abs(np.diff(early))))
    swing_late = float(np.median(np.abs(np.diff(late))))
    rises = float(np.median(late)) > 0.9 * float(np.median(early))
    return when(
        rises and swing_late > 2 * swing_early > 0,
        f"the swings of the loss grew from {swing_early:.3g} to {swing_late:.3g}",
    )


def loss_is_negative_and_settles(run: Run) -> Finding:
    """A loss below zero whose fall slows down: a log-density or a reward, doing well."""
    curve = run.loss
    if curve is None or curve.count < FEW_ROWS:
        return unmeasured()
    parts = [float(np.median(part)) for part in np.array_split(curve.finite, 4)]
    falls = [parts[i] - parts[i + 1] for i in range(3)]
    return when(
        parts[3] < 0 and falls[2] < 0.6 * max(falls[0], falls[1], 1e-12), "the loss is negative and its fall slows down"
    )
