"""Whether optimizers step, which way, and on gradients that were cleared."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def gradients_not_cleared(run: Run) -> Finding:
    """A backward that follows an optimizer step finds the old gradients still there."""
    steps, left = run.of_optimizer("gradient.left_norm")
    steps_norm, norm = run.of_optimizer("gradient.norm")
    if left.size < 3 or run.optimizer_steps < 3:
        return unmeasured()
    at = dict(zip(steps_norm.tolist(), norm.tolist()))
    pairs = [(value, at.get(step, 0.0)) for step, value in zip(steps.tolist(), left.tolist())]
    full = [value > 1e-3 * now > 0 for value, now in pairs if math.isfinite(value) and math.isfinite(now)]
    if len(full) < 3:
        return unmeasured()
    return when(
        bool(np.mean(full) > 0.8),
        f"gradients are not cleared: each backward finds those of the steps before (norm {np.median(left):.3g})",
        left=float(np.median(left)),
    )


def gradients_sometimes_cleared(run: Run) -> Finding:
    """Old gradients are found after some optimizer steps and not after others."""
    _, left = run.of_optimizer("gradient.left_norm")
    if left.size < 6 or run.optimizer_steps < 6:
        return unmeasured()
    share = float(np.mean(left > 0))
    return when(0.2 < share <= 0.8, f"after {100 * share:.0f} % of the steps the old gradients were still there")


def no_optimizer_step(run: Run) -> Finding:
    """Backward after backward, and no optimizer ever steps; a loss that falls was lowered by hand."""
    if run.backwards < 5:
        return unmeasured()
    curve = run.loss
    if curve is not None and curve.count >= 8:
        third = max(2, curve.count // 3)
        fell = float(np.mean(curve.finite[:third]) - np.mean(curve.finite[-third:]))
        # Means of a third, each of independent noise: five times the spread of their difference.
        if fell > 5 * curve.noise * math.sqrt(2 / third) and fell > 0.02 * abs(curve.first):
            return absent()
        # Lowered by half at some time, also where it rose again later: something moves the weights.
        if 0 < curve.best < 0.5 * curve.first and curve.first - curve.best > 5 * curve.noise:
            return absent()
    return when(run.optimizer_steps == 0, f"{run.backwards} backward passes and not one optimizer step")


def gradients_cleared_before_step(run: Run) -> Finding:
    """Backward leaves a gradient, and when the optimizer steps there is none."""
    steps, left = run.trace.scalar("gradient.norm_after_backward", "gradients")
    steps_at, at = run.of_optimizer("gradient.norm")
    if left.size < 5 or not run.optimizer_steps:
        return unmeasured()
    if not any(trains and held for trains, held, *_ in run.membership.values()):
        # It steps over parameters of something else: what it finds there says nothing of these gradients.
        return absent()
    stepped_on = dict(zip(steps_at.tolist(), at.tolist()))
    pairs = [(norm, stepped_on.get(step, 0.0)) for step, norm in zip(steps.tolist(), left.tolist())]
    lost = [norm > 0 and not now > 0 for norm, now in pairs]
    return when(
        bool(np.mean(lost) > 0.9),
        "gradients are cleared between backward and step, so that the optimizer steps on nothing",
    )


def all_steps_skipped(run: Run) -> Finding:
    """The loss scaler skipped every step, or nearly."""
    skipped = int(run.trace.meta.get("counts", {}).get("skipped_steps", 0))
    if not run.optimizer_steps:
        return unmeasured()
    return when(
        skipped > 0.5 * run.optimizer_steps and run.optimizer_steps > 10,
        f"{skipped} of {run.optimizer_steps} steps were skipped",
    )


def optimizer_maximizes(run: Run) -> Finding:
    """The optimizer was built with maximize=True."""
    if not run.optimizers:
        return unmeasured()
    return when(bool(run.setting("maximize")), "the optimizer was built with maximize=True")
