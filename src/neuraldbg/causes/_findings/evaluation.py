"""Training against validation."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.evaluation import evaluations, in_train_mode, levels_at_end, training_near
from neuraldbg.measures.inputs import recurrence
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding

#: Validation loss over training loss up to which other inputs do no harm that counts.
_NO_GAP = 2.0


def validation_rises_while_training_falls(run: Run) -> Finding:
    """The validation loss rises from its lowest level by a fifth while the training loss falls on."""
    found = evaluations(run)
    if found is None or found[0].size < 4:
        return unmeasured()
    steps, values = found
    train = training_near(run, steps)
    smooth = np.convolve(values, np.ones(3) / 3, mode="valid") if values.size >= 6 else values
    low = int(smooth.argmin())
    offset = (values.size - smooth.size) // 2
    at = low + offset
    rise = float(np.mean(values[-max(1, values.size // 6) :])) - float(smooth[low])
    falls = np.isfinite(train[-1]) and np.isfinite(train[at]) and train[-1] < train[at]
    gap = float(np.mean(values[-max(1, values.size // 6) :])) > 1.5 * max(train[-1], 1e-12)
    return when(
        bool(rise > 0.15 * abs(float(smooth[low])) and falls and gap and low < smooth.size - 2),
        f"the validation loss rises from {smooth[low]:.3g} at step {steps[at]} to {values[-1]:.3g} while the training loss falls to {train[-1]:.3g}",
        step=int(steps[at]),
        lowest=float(smooth[low]),
        last=float(values[-1]),
    )


def training_far_below_validation_at_end(run: Run) -> Finding:
    """At the end the training loss is less than a third of the validation loss."""
    found = levels_at_end(run)
    if found is None:
        return unmeasured()
    now, other = found
    return when(
        now < 0.35 * other,
        f"the training loss ends at {now:.3g}, the validation loss at {other:.3g}",
        train=now,
        validation=other,
    )


#: Gap between validation and training in units of what a constant guess reaches. Healthy runs of FaultBench end between
#: -0.1 and 0.2, runs that overfit mostly above 0.6.
_WIDE_GAP = 0.6


def validation_gap_is_wide(run: Run) -> Finding:
    """At the end validation is above training by a good part of what a constant guess reaches.

    A ratio alone says little: 0.01 against 0.0001 is two good losses.
    """
    found, curve = levels_at_end(run), run.loss
    if found is None or curve is None:
        return unmeasured()
    now, other = found
    level = curve.constant or curve.first
    if not (level > 1e-9 and np.isfinite(now)):
        return unmeasured()
    return when(
        other - now > _WIDE_GAP * level,
        f"validation ends at {other:.3g} and training at {now:.3g}, {(other - now) / level:.2g} times a constant guess apart",
        gap=(other - now) / level,
    )


#: Looks per distinct largest entry above which training sees the same few samples over and over. Runs of FaultBench on
#: 19 to 33 samples give 12 to 60, ordinary ones of several epochs 1 to 4.
_RECURS = 8.0


def few_samples_recur(run: Run) -> Finding:
    """Training sees the same few samples over and over: the largest entries of its batches take few values."""
    found = recurrence(run)
    if found is None:
        return unmeasured()
    return when(
        found > _RECURS, f"the same few samples come back: {found:.0f} batches for each largest entry", looks=found
    )


def validation_worse_from_the_start(run: Run) -> Finding:
    """From the second evaluation on, validation is well above training, and the gap does not come from a rise."""
    found = evaluations(run)
    if found is None or found[0].size < 3:
        return unmeasured()
    steps, values = found
    train = training_near(run, steps)
    kept = np.isfinite(train)
    if kept.sum() < 3:
        return unmeasured()
    ratio = values[kept] / np.maximum(np.abs(train[kept]), 1e-12)
    early = float(np.min(ratio[: max(2, ratio.size // 4)]))
    curve = run.loss
    learned = curve is not None and curve.end < 0.7 * curve.first
    return when(
        bool(early > 1.4 and learned and np.median(ratio[1:]) > 1.6),
        f"validation gives {early:.2g} times the training loss from the first evaluations on",
        step=int(steps[0]),
        ratio=early,
    )


def validation_never_improves(run: Run) -> Finding:
    """The training loss falls by half and the validation loss never falls by a tenth."""
    found = evaluations(run)
    curve = run.loss
    if found is None or curve is None or found[0].size < 3:
        return unmeasured()
    steps, values = found
    learned = 0 < curve.end < 0.5 * curve.first
    reference = max(float(values[0]), curve.first)
    return when(
        bool(learned and values.min() > 0.9 * reference),
        f"the training loss falls to {curve.end:.3g} and the validation loss never falls below {values.min():.3g}",
        step=int(steps[0]),
    )


def validation_inputs_differ(run: Run) -> Finding:
    """The model's inputs have another mean or spread in forwards without gradients."""
    worst = (0.0, "")
    seen = False
    ends = levels_at_end(run)
    if ends is not None and ends[1] < _NO_GAP * ends[0]:
        # The model does as well on them.
        return absent()
    train_std, train_mean = run.series("input.std"), run.series("input.mean")
    # Both kinds of place carry the same quantities; they differ in the kind of their place.
    places = {(p.kind, p.name): i for i, p in enumerate(train_std.places)}
    means = {(p.kind, p.name): i for i, p in enumerate(train_mean.places)}
    for (kind, name), index in places.items():
        other = places.get(("evaluation", name))
        if kind != "input" or other is None or ("evaluation", name) not in means:
            continue
        seen = True
        spread, spread_other = np.nanmedian(train_std.values[:, index]), np.nanmedian(train_std.values[:, other])
        center, center_other = (
            np.nanmedian(train_mean.values[:, means[kind, name]]),
            np.nanmedian(train_mean.values[:, means["evaluation", name]]),
        )
        if not spread > 0:
            continue
        jitter = np.nanstd(train_mean.values[:, means[kind, name]]) / spread
        shift = abs(center - center_other) / spread
        scale = abs(float(np.log(max(spread_other, 1e-12) / spread)))
        jitter_scale = float(np.nanstd(np.log(np.maximum(train_std.values[:, index], 1e-12))))
        size = max(shift / max(0.5, 6 * jitter), scale / max(0.35, 6 * jitter_scale))
        worst = max(
            worst,
            (
                float(size),
                f"input {name}: mean {center:.3g} and spread {spread:.3g} in training, {center_other:.3g} and {spread_other:.3g} in validation",
            ),
        )
    if not seen:
        return unmeasured()
    return when(worst[0] > 1, worst[1], size=worst[0])


def validation_in_train_mode(run: Run) -> Finding:
    """Dropout or batch norm run in train mode in forwards without gradients."""
    series = run.series("evaluation.training")
    for fact in run.trace.facts("evaluation.functional_dropout"):
        drops = f"a dropout of {fact.data['probability']:.2g} stays on while the model is in eval mode"
        return present(drops, source=fact.data["source"], step=fact.step)
    if not series:
        return unmeasured()
    wrong = [place.name for place in in_train_mode(run)]
    if not wrong:
        return absent()
    return present(
        f"'{wrong[0]}' runs in train mode in forwards without gradients", layer=wrong[0], step=int(series.steps[0])
    )


def validation_seen(run: Run) -> Finding:
    """At least two evaluations were seen."""
    return when(evaluations(run) is not None, "evaluations were seen")


def validation_gap_grows(run: Run) -> Finding:
    """The ratio of validation to training loss begins near one and grows more than threefold."""
    found = evaluations(run)
    if found is None or found[0].size < 4:
        return unmeasured()
    steps, values = found
    train = training_near(run, steps)
    kept = np.isfinite(train) & (train > 0)
    if kept.sum() < 4:
        return unmeasured()
    ratio = values[kept] / train[kept]
    first, last = float(np.min(ratio[:2])), float(np.median(ratio[-max(1, ratio.size // 5) :]))
    curve = run.loss
    if curve is not None and first >= 2 and train[kept][0] < 0.5 * curve.first:
        # Training had gone far before the first evaluation: where the gap began was not seen.
        return unmeasured()
    return when(
        0 < first < 2 and last > 3 * first,
        f"validation begins at {first:.2g} times the training loss and ends at {last:.3g} times",
    )
