"""How the loss went."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import level_before
from neuraldbg.records import Finding

#: Rows below which a curve has no shape yet.
_FEW = 20


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
    if curve is None or curve.count < _FEW or run.adversarial:
        return unmeasured() if curve is None or curve.count < _FEW else absent()
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


def loss_at_constant_predictor(run: Run) -> Finding:
    """The loss ends where a constant prediction would."""
    curve = run.loss
    if curve is None or curve.count < _FEW or curve.constant is None or run.adversarial:
        return unmeasured()
    constant = curve.constant
    if constant <= 1e-9:
        return absent()
    ratio = curve.end / constant
    return when(
        0.9 < ratio < 1.15,
        f"after {curve.count} steps the loss is {curve.end:.3g}, what a constant guess gives ({constant:.3g})",
        end=curve.end,
        constant=constant,
    )


def loss_above_constant_predictor(run: Run) -> Finding:
    """The loss ends clearly above what a constant prediction would reach."""
    curve = run.loss
    if curve is None or curve.count < _FEW or curve.constant is None or run.adversarial:
        return unmeasured()
    if curve.constant <= 1e-9:
        return absent()
    ratio = curve.end / curve.constant
    return when(
        ratio >= 1.15,
        f"the loss ends at {curve.end:.3g}, above the {curve.constant:.3g} of a constant guess",
        end=curve.end,
        constant=curve.constant,
    )


def loss_beats_constant_clearly(run: Run) -> Finding:
    """The loss ends below half of what a constant prediction reaches."""
    curve = run.loss
    if curve is None or curve.count < _FEW or curve.constant is None:
        return unmeasured()
    if curve.constant <= 1e-9 or run.bad_step is not None:
        return absent()
    return when(
        curve.end < 0.5 * curve.constant,
        f"the loss reached {curve.end:.3g}, against {curve.constant:.3g} of a constant guess",
        end=curve.end,
        constant=curve.constant,
    )


def loss_fell_to_little(run: Run) -> Finding:
    """The loss ends below a fifth of its start, and near its lowest level."""
    curve = run.loss
    if curve is None or curve.count < _FEW:
        return unmeasured()
    if run.bad_step is not None or curve.first <= 0:
        return absent()
    start = min(curve.first, curve.constant) if curve.constant and curve.constant > 1e-9 else curve.first
    settled = curve.end <= 2.5 * max(curve.best, 1e-30) or curve.end < 0.02 * curve.first
    return when(
        -0.2 * start < curve.end < 0.2 * start and settled,
        f"the loss fell from {curve.first:.3g} to {curve.end:.3g}",
        first=curve.first,
        end=curve.end,
    )


def loss_fell_by_half(run: Run) -> Finding:
    curve = run.loss
    if curve is None or curve.count < _FEW:
        return unmeasured()
    if run.bad_step is not None:
        return absent()
    if curve.first <= 0 or curve.end <= 0:
        gain = curve.first - curve.end
        return when(
            gain > max(abs(curve.first), 6 * curve.noise), f"the loss fell from {curve.first:.3g} to {curve.end:.3g}"
        )
    start = min(curve.first, curve.constant) if curve.constant and curve.constant > 1e-9 else curve.first
    return when(curve.end < 0.5 * start, f"the loss fell from {curve.first:.3g} to {curve.end:.3g}")


def loss_never_moved(run: Run) -> Finding:
    """First to last tenth: a change within a fiftieth of the level and within the noise."""
    curve = run.loss
    if curve is None or curve.count < _FEW:
        return unmeasured()
    if run.bad_step is not None or run.adversarial:
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
    if curve is None or curve.count < _FEW:
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


def first_loss_huge(run: Run) -> Finding:
    """The first loss is far above a uniform or a constant guess."""
    curve = run.loss
    if curve is None or not curve.count or not curve.terms or len(curve.terms) > 1:
        return unmeasured()
    term = curve.terms[0]
    first = float(curve.finite[0])
    per_element = first / float(term.get("factor") or 1.0)
    if term.get("reduction") == "sum":
        _, elements = run.trace.scalar("loss.elements", curve.place.name)
        per_element /= float(elements[0]) if elements.size else 1.0
    if term["kind"] == "cross_entropy" and term.get("class_count"):
        reference = math.log(max(2, int(term["class_count"])))
    elif term["kind"].startswith("binary_cross_entropy"):
        reference = math.log(2)
    else:
        return unmeasured()
    return when(
        per_element > 2.5 * reference,
        f"the first loss is {per_element:.3g}; a uniform guess gives {reference:.3g}",
        first=per_element,
        uniform=reference,
    )


def loss_noisy(run: Run) -> Finding:
    """The loss swings by more than a third of its level from step to step."""
    curve = run.loss
    if curve is None or curve.count < _FEW:
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


def run_has_several_losses(run: Run) -> Finding:
    """Several losses are minimized by several optimizers, as in adversarial training."""
    return when(run.adversarial, "several losses are trained against each other")


def run_is_short(run: Run) -> Finding:
    """Fewer than 20 losses were seen."""
    return when(run.loss is None or run.loss.count < _FEW, "the run is too short to judge its learning")


def run_learned_well(run: Run) -> Finding:
    """The loss fell to a fifth and less of its start and of a constant guess, and stayed near its best."""
    curve = run.loss
    if curve is None or curve.count < _FEW:
        return unmeasured()
    if run.bad_step is not None or curve.first <= 0:
        return absent()
    start = min(curve.first, curve.constant) if curve.constant and curve.constant > 1e-9 else curve.first
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
    if curve.count < _FEW or run.adversarial:
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


def loss_is_negative_and_settles(run: Run) -> Finding:
    """A loss below zero whose fall slows down: a log-density or a reward, doing well."""
    curve = run.loss
    if curve is None or curve.count < _FEW:
        return unmeasured()
    parts = [float(np.median(part)) for part in np.array_split(curve.finite, 4)]
    falls = [parts[i] - parts[i + 1] for i in range(3)]
    return when(
        parts[3] < 0 and falls[2] < 0.6 * max(falls[0], falls[1], 1e-12), "the loss is negative and its fall slows down"
    )
