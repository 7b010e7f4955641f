"""The size of the gradient over time: zero, clipped, growing, not finite."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.causes._findings.data.batch_order import batches_ordered_by_target
from neuraldbg.causes._findings.data.input_level import input_level_shifted
from neuraldbg.causes._findings.loss_wiring.domain import explosion_precedes
from neuraldbg.measures.run import FloatArray, IntArray, Run
from neuraldbg.measures.stretches import level_before
from neuraldbg.records import Finding


def gradients_zero(run: Run) -> Finding:
    """The whole gradient is exactly zero for most of the run, or from some step on."""
    steps, norm = run.of_optimizer("gradient.norm")
    if norm.size < 5:
        return unmeasured()
    zero = norm == 0
    late = zero[norm.size // 2 :]
    first = int(steps[np.argmax(zero)]) if zero.any() else 0
    return when(bool(late.mean() > 0.9), f"all gradients are exactly zero from step {first} on", step=first)


def comes_with_the_data(run: Run, step: int) -> bool:
    """Whether the data accounts for a gradient that leaves its level: it is in order, or its own level had changed.

    In ordered data a spike comes with the first batch of the next kind.
    """
    shifted = input_level_shifted(run)
    before = bool(shifted.present and shifted.step is not None and shifted.step <= step)
    return before or bool(batches_ordered_by_target(run).present)


def _begins(steps: IntArray, norm: FloatArray, trouble: int) -> int:
    """Where the growth before a trouble begins: the first gradient ten times the level of those before it."""
    level = level_before(norm, width=20, at_least=8)
    high = np.flatnonzero((steps < trouble) & (norm > 10 * level))
    return int(steps[high[0]]) if high.size else trouble - 5


def gradient_grows_before_trouble(run: Run) -> Finding:
    """In the steps before the trouble the gradient norm grew more than fivefold."""
    step = run.trouble_step
    steps, norm = run.of_optimizer("gradient.norm")
    # What explodes in the first steps, or swings far above its start from then on, was never healthy.
    begins = 0 if step is None else _begins(steps, norm, step)
    if step is None or step < 15 or (run.loss is not None and not run.loss.ordinary_before(begins)):
        return absent()
    if comes_with_the_data(run, begins):
        return absent()
    before = (steps <= step) & (steps > step - 40) & np.isfinite(norm)
    earlier = (steps <= step - 40) & np.isfinite(norm) if step > 60 else (steps < max(3, step // 3)) & np.isfinite(norm)
    if before.sum() < 3 or earlier.sum() < 3:
        return unmeasured()
    ratio = float(norm[before].max() / max(np.median(norm[earlier]), 1e-30))
    return when(ratio > 5, f"before step {step} the gradient norm grew {ratio:.3g}-fold", step=step, ratio=ratio)


def gradient_nonfinite_while_loss_finite(run: Run) -> Finding:
    """A gradient became non-finite in a step whose loss was finite.

    Among ranks nobody can say from here: the gradient is that of all of them, and the loss is this one's.
    """
    if run.trace.meta.get("ranks"):
        return unmeasured()
    facts = run.trace.facts("nonfinite.gradient")
    if not facts:
        return absent()
    step = facts[0].step
    if run.bad_step is not None and run.bad_step <= step:
        return absent()
    bad, of = facts[0].data.get("bad", 0), facts[0].data.get("of", 0)
    if not bad or explosion_precedes(run).present:
        # Every gradient is finite and their common norm is not, or all had grown before: an explosion, no domain left.
        return absent()
    return present(f"at step {step} the loss is finite and {bad} of {of} gradients are not", step=step)


def gradients_clipped(run: Run) -> Finding:
    """The norm of the gradient at the step is cut against what the backward left."""
    steps_after, after = run.trace.scalar("gradient.norm_after_backward", "gradients")
    steps_at, at = run.of_optimizer("gradient.norm")
    if after.size < 8 or at.size < 8 or len(run.optimizers) > 1:
        return unmeasured()
    left = dict(zip(steps_after.tolist(), after.tolist()))
    pairs = [(left[s], value) for s, value in zip(steps_at.tolist(), at.tolist()) if s in left and np.isfinite(value)]
    if len(pairs) < 8:
        return unmeasured()
    cut = sum(value < 0.98 * before for before, value in pairs)
    return when(cut > 0.05 * len(pairs), f"the gradient was clipped in {100 * cut / len(pairs):.0f} % of the steps")
