"""How the run ended."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.causes._findings.loss.constant_guess import loss_above_constant_predictor, loss_at_constant_predictor
from neuraldbg.causes._findings.loss_wiring.sign import loss_falls_without_bound
from neuraldbg.measures.loss_curve import FEW_ROWS
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def loss_non_finite(run: Run) -> Finding:
    step = run.bad_step
    if not run.curves:
        return unmeasured()
    if step is None:
        return absent()
    facts = run.trace.facts("nonfinite.loss")
    kind = "infinite" if facts and facts[0].data.get("value") == "inf" else "NaN"
    return present(f"the loss became {kind} at step {step}", step=step)


def loss_ends_above_start(run: Run) -> Finding:
    """The loss ends clearly above where it began."""
    curve = run.loss
    if curve is None or curve.count < 8:
        return unmeasured()
    if run.adversarial:
        return absent()
    start = float(np.median(curve.finite[: max(3, min(10, curve.count // 10))]))
    if curve.kind == "other" and start < 0 and abs(curve.end) <= abs(start) and run.bad_step is None:
        # A sum of advantages or scores goes to zero as there is less to gain: its level says nothing of progress.
        return unmeasured()
    rise = curve.end - start
    level = max(0.1 * abs(start), 3 * curve.noise / math.sqrt(curve.window), 1e-12)
    if curve.end > 10 * abs(float(curve.finite[0])) > 0 and curve.end > 0.9 * start:
        # It left within the first steps: the typical start is high already.
        start, rise = float(curve.finite[0]), max(rise, 2 * level)
    step = run.trouble_step
    return when(
        rise > level, f"the loss rose from {start:.3g} to {curve.end:.3g}", step=step or 0, start=start, end=curve.end
    )


def loss_left_its_best(run: Run) -> Finding:
    """The loss had fallen well, then broke away and stayed up, or became non-finite after having fallen."""
    curve = run.loss
    if curve is None or curve.count < FEW_ROWS or run.adversarial:
        return unmeasured() if curve is None or curve.count < FEW_ROWS else absent()
    step = run.trouble_step
    if step is None:
        return absent()
    smooth = curve.smooth()
    fell = smooth[0] - smooth.min()
    worthwhile = fell > 0.2 * abs(smooth[0]) and fell > 3 * curve.noise
    late = step >= 0.05 * max(1, int(curve.steps[-1])) or step >= 15
    return when(
        bool(worthwhile and late),
        f"the loss had fallen to {smooth.min():.3g} and left that level at step {step}",
        step=step,
        best=smooth.min(),
        end=curve.end,
    )


def loss_never_moved(run: Run) -> Finding:
    """First to last tenth: a change within a fiftieth of the level and within the noise."""
    curve = run.loss
    if curve is None or curve.count < FEW_ROWS:
        return unmeasured()
    if run.bad_step is not None or run.adversarial or run.began_trained():
        return absent()
    change = abs(curve.start - curve.end)
    moved_first = abs(curve.first - curve.end)
    level = max(abs(curve.start), 1e-12)
    bound = max(0.02 * level, 1.5 * curve.noise / math.sqrt(curve.window))
    return when(
        change < bound and moved_first < max(0.05 * level, 3 * curve.noise),
        f"the loss stays at {curve.end:.3g} from the first step",
        start=curve.start,
        end=curve.end,
    )


def loss_fell_to_little(run: Run) -> Finding:
    """The loss ends below a fifth of its start, and near its lowest level."""
    curve = run.loss
    if curve is None or curve.count < FEW_ROWS or run.one_player_wins:
        return unmeasured()
    if run.bad_step is not None or curve.first <= 0:
        return absent()
    start = curve.to_beat
    settled = curve.end <= 2.5 * max(curve.best, 1e-30) or curve.end < 0.02 * curve.first
    return when(
        -0.2 * start < curve.end < 0.2 * start and settled,
        f"the loss fell from {curve.first:.3g} to {curve.end:.3g}",
        first=curve.first,
        end=curve.end,
    )


def loss_fell_by_half(run: Run) -> Finding:
    curve = run.loss
    if curve is None or curve.count < FEW_ROWS or run.one_player_wins:
        return unmeasured()
    if run.bad_step is not None:
        return absent()
    if loss_falls_without_bound(run).present:
        return unmeasured()
    if curve.first <= 0 or curve.end <= 0:
        gain = curve.first - curve.end
        return when(
            gain > max(abs(curve.first), 6 * curve.noise), f"the loss fell from {curve.first:.3g} to {curve.end:.3g}"
        )
    return when(curve.end < 0.5 * curve.to_beat, f"the loss fell from {curve.first:.3g} to {curve.end:.3g}")


def run_learned_well(run: Run) -> Finding:
    """The loss fell to a fifth and less of its start and of a constant guess, and stayed near its best."""
    curve = run.loss
    if curve is None or curve.count < FEW_ROWS or run.one_player_wins:
        return unmeasured()
    if run.bad_step is not None or curve.first <= 0:
        return absent()
    start = curve.to_beat
    span = start - curve.best
    held = curve.end - curve.best < 0.15 * span
    return when(
        -0.2 * start < curve.end < 0.2 * start and held,
        f"the loss fell from {curve.first:.3g} to {curve.end:.3g} and stayed there",
    )


def run_did_not_learn(run: Run) -> Finding:
    """The loss became non-finite, ends above its start, or never left the level of a constant guess or of its start."""
    curve = run.loss
    if curve is None or curve.count < 3:
        return unmeasured()
    if run.bad_step is not None:
        return present(f"the loss is not finite from step {run.bad_step} on", step=run.bad_step)
    if curve.count < FEW_ROWS or run.adversarial:
        return unmeasured()
    for question in (
        loss_never_moved,
        loss_ends_above_start,
        loss_at_constant_predictor,
        loss_above_constant_predictor,
    ):
        answer = question(run)
        if answer.present:
            return present(answer.sentence, step=answer.step)
    return absent()


def run_has_several_losses(run: Run) -> Finding:
    """Several losses are minimized by several optimizers, as in adversarial training."""
    return when(run.adversarial, "several losses are trained against each other")


def run_is_short(run: Run) -> Finding:
    """Fewer than 20 losses were seen."""
    return when(run.loss is None or run.loss.count < FEW_ROWS, "the run is too short to judge its learning")
