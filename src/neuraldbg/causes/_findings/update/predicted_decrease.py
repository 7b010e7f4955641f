"""The decrease of the loss that gradient and step promise, against what came."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.causes._findings.update.gradient_norm import gradients_zero
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def predicted_decrease_is_tiny(run: Run) -> Finding:
    """All first-order predicted decreases of the run together are a small share of the loss.

    Scale-free: the steps taken could not have covered the way, however good their direction.
    """
    if run.learned_to(0.2) or run.began_trained():
        return absent()
    curve = run.loss
    steps, predicted, _ = run.predicted_and_actual
    if curve is None or steps.size < 8 or curve.count < 20 or run.adversarial:
        return unmeasured()
    if gradients_zero(run).present:
        # No step length makes up for a gradient that is not there.
        return absent()
    total = float(np.mean(predicted)) * curve.count
    level = abs(curve.start)
    return when(
        0 <= total < 0.08 * level,
        f"all steps together could lower the loss by {total:.2g} of {level:.3g}",
        predicted=total,
        level=level,
    )


def predicted_decrease_is_large(run: Run) -> Finding:
    """The predicted decreases add up to many times the loss, and the loss did not follow."""
    curve = run.loss
    steps, predicted, _actual = run.predicted_and_actual
    if curve is None or steps.size < 8:
        return unmeasured()
    count = min(curve.count, 1 + int(steps[-1]))
    total = float(np.mean(np.clip(predicted, 0, None))) * count
    progress = max(0.0, curve.first - curve.end)
    level = max(abs(curve.first), abs(curve.end), 1e-12)
    return when(
        total > 3 * level and progress < 0.15 * total,
        f"going by its gradients the loss should have fallen by {total:.3g} in all; it fell by {progress:.3g}",
        predicted=total,
        progress=progress,
    )


def first_steps_overshoot(run: Run) -> Finding:
    """Over the first steps the loss rose where gradient and step predicted a fall worth noticing."""
    curve = run.loss
    steps, predicted, actual = run.predicted_and_actual
    if curve is None or steps.size < 4:
        return unmeasured()
    early = steps < 12
    if early.sum() < 3:
        return unmeasured()
    promised, came = float(predicted[early].sum()), float(actual[early].sum())
    scale = max(abs(curve.first), 1e-12)
    worst = int(steps[early][np.argmin(actual[early] - predicted[early])])
    return when(
        promised > 0.3 * scale and came < 0.1 * promised,
        f"going by its gradients the loss should have fallen by {promised:.3g} in the first {int(early.sum())} steps; "
        f"it changed by {-came:+.3g}",
        step=min(worst, int(steps[early][0])),
        promised=promised,
        came=came,
    )
