"""Steps, gradients over time, and the optimizer's settings."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def _finite(values: np.ndarray) -> np.ndarray:
    kept: np.ndarray = values[np.isfinite(values)]
    return kept


def predicted_decrease_is_tiny(run: Run) -> Finding:
    """All first-order predicted decreases of the run together are a small share of the loss.

    Scale-free: the steps taken could not have covered the way, however good their direction.
    """
    if run.learned_to(0.2):
        return absent()
    curve = run.loss
    steps, predicted, _ = run.predicted_and_actual
    if curve is None or steps.size < 8 or curve.count < 20:
        return unmeasured()
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
        f"the gradients promised a fall of {total:.3g} in all; the loss fell by {progress:.3g}",
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
        f"in the first {int(early.sum())} steps the gradients promised a fall of {promised:.3g}; the loss changed by {-came:+.3g}",
        step=min(worst, int(steps[early][0])),
        promised=promised,
        came=came,
    )


def updates_huge_at_start(run: Run) -> Finding:
    """One of the first steps moved the weights by more than a tenth of their norm."""
    steps, ratio = run.of_optimizer("update.ratio")
    early = steps < 10
    if not early.any():
        return unmeasured()
    values = ratio[early]
    worst = int(steps[early][np.argmax(values)])
    value = float(values.max())
    return when(
        value > 0.1,
        f"step {worst} moved the weights by {100 * value:.3g} % of their norm (healthy: 0.01 to 1 %)",
        step=int(steps[early][0]),
        ratio=value,
    )


def updates_large(run: Run) -> Finding:
    """The typical step moves the weights by more than 2.5 % of their norm."""
    _, ratio = run.of_optimizer("update.ratio")
    ratio = _finite(ratio)
    if ratio.size < 5:
        return unmeasured()
    middle = float(np.median(ratio))
    return when(
        middle > 0.025, f"a step moves the weights by {100 * middle:.2g} % (healthy: 0.01 to 1 %)", ratio=middle
    )


def updates_tiny(run: Run) -> Finding:
    """The typical step moves the weights by less than 2e-5 of their norm, from the start on."""
    if run.learned_to(0.2):
        return absent()
    _, ratio = run.of_optimizer("update.ratio")
    ratio = _finite(ratio)
    if ratio.size < 5:
        return unmeasured()
    middle = float(np.median(ratio[: max(5, ratio.size // 4)]))
    return when(0 < middle < 2e-5, f"updates are {middle:.1g} of the weights (healthy: 1e-4 to 1e-2)", ratio=middle)


def updates_small(run: Run) -> Finding:
    """The typical step moves the weights by less than 2e-4 of their norm, from the start on."""
    if run.learned_to(0.2):
        return absent()
    _, ratio = run.of_optimizer("update.ratio")
    ratio = _finite(ratio)
    if ratio.size < 5:
        return unmeasured()
    middle = float(np.median(ratio[: max(5, ratio.size // 4)]))
    return when(0 < middle < 2e-4, f"updates are {middle:.1g} of the weights (healthy: 1e-4 to 1e-2)", ratio=middle)


def updates_zero(run: Run) -> Finding:
    """Optimizer steps leave the weights exactly where they are, though there are gradients."""
    _, norm = run.of_optimizer("update.norm")
    _, gradient = run.of_optimizer("gradient.norm")
    if norm.size < 5 or gradient.size < 5:
        return unmeasured()
    return when(
        float(np.median(norm)) == 0 and float(np.median(gradient)) > 0, "steps leave the weights exactly where they are"
    )


def gradients_zero(run: Run) -> Finding:
    """The whole gradient is exactly zero for most of the run, or from some step on."""
    steps, norm = run.of_optimizer("gradient.norm")
    if norm.size < 5:
        return unmeasured()
    zero = norm == 0
    late = zero[norm.size // 2 :]
    first = int(steps[np.argmax(zero)]) if zero.any() else 0
    return when(bool(late.mean() > 0.9), f"all gradients are exactly zero from step {first} on", step=first)


def gradients_parallel(run: Run) -> Finding:
    """Successive gradients point the same way."""
    _steps, cosine = run.of_optimizer("gradient.cosine")
    cosine = _finite(cosine)
    if cosine.size < 8:
        return unmeasured()
    middle = float(np.median(cosine))
    return when(middle > 0.9, f"successive gradients are parallel (cosine {middle:.2f})", cosine=middle)


def gradients_unrelated(run: Run) -> Finding:
    """In the second half, successive gradients share no direction."""
    _, cosine = run.of_optimizer("gradient.cosine")
    cosine = _finite(cosine)
    if cosine.size < 16:
        return unmeasured()
    middle = float(np.median(cosine[cosine.size // 2 :]))
    return when(
        -0.15 < middle < 0.2, f"gradients of successive batches share no direction (cosine {middle:.2f})", cosine=middle
    )


def gradients_oppose(run: Run) -> Finding:
    """Successive gradients point against each other: the steps jump across a valley."""
    _, cosine = run.of_optimizer("gradient.cosine")
    cosine = _finite(cosine)
    if cosine.size < 8:
        return unmeasured()
    middle = float(np.median(cosine))
    return when(middle < -0.2, f"successive gradients oppose each other (cosine {middle:.2f})", cosine=middle)


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
    """Backward after backward, and no optimizer ever steps."""
    if run.backwards < 5:
        return unmeasured()
    return when(run.optimizer_steps == 0, f"{run.backwards} backward passes and not one optimizer step")


def all_steps_skipped(run: Run) -> Finding:
    """The loss scaler skipped every step, or nearly."""
    skipped = int(run.trace.meta.get("counts", {}).get("skipped_steps", 0))
    if not run.optimizer_steps:
        return unmeasured()
    return when(
        skipped > 0.5 * run.optimizer_steps and run.optimizer_steps > 10,
        f"{skipped} of {run.optimizer_steps} steps were skipped",
    )


def gradient_spikes(run: Run) -> Finding:
    """A gradient more than ten times the running level, out of a healthy stretch."""
    steps, norm = run.of_optimizer("gradient.norm")
    if norm.size < 20:
        return unmeasured()
    found = (0.0, 0)
    for index in range(10, norm.size):
        before = _finite(norm[max(0, index - 20) : index])
        if before.size < 8:
            continue
        middle = float(np.median(before))
        value = norm[index] if np.isfinite(norm[index]) else math.inf
        if middle > 0 and value > 10 * middle and not found[0]:
            found = (min(value / middle, 1e9), int(steps[index]))
    return when(
        found[0] > 0,
        f"at step {found[1]} the gradient was {found[0]:.3g} times its running level",
        step=found[1],
        ratio=found[0],
    )


def gradient_grows_before_trouble(run: Run) -> Finding:
    """In the steps before the trouble the gradient norm grew more than fivefold."""
    step = run.trouble_step
    steps, norm = run.of_optimizer("gradient.norm")
    # What explodes in the first steps was never healthy.
    if step is None or step < 15:
        return absent()
    before = (steps <= step) & (steps > step - 40) & np.isfinite(norm)
    earlier = (steps <= step - 40) & np.isfinite(norm) if step > 60 else (steps < max(3, step // 3)) & np.isfinite(norm)
    if before.sum() < 3 or earlier.sum() < 3:
        return unmeasured()
    ratio = float(norm[before].max() / max(np.median(norm[earlier]), 1e-30))
    return when(ratio > 5, f"before step {step} the gradient norm grew {ratio:.3g}-fold", step=step, ratio=ratio)


def gradient_nonfinite_while_loss_finite(run: Run) -> Finding:
    """A gradient became non-finite in a step whose loss was finite."""
    facts = run.trace.facts("nonfinite.gradient")
    if not facts:
        return absent()
    step = facts[0].step
    if run.bad_step is not None and run.bad_step <= step:
        return absent()
    bad, of = facts[0].data.get("bad", 0), facts[0].data.get("of", 0)
    if not bad:
        # Every gradient is finite; their common norm is not: an explosion, not a domain left.
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


def learning_rate_jumped(run: Run) -> Finding:
    """The learning rate rose at least threefold at once, later than the first few steps, and trouble followed."""
    steps, rates = run.learning_rate
    if not rates.size:
        return unmeasured()
    for index in range(1, rates.size):
        if steps[index] >= 3 and rates[index] > 3 * rates[index - 1] > 0:
            trouble = run.trouble_step
            if trouble is not None and trouble >= steps[index] - 2:
                return present(
                    f"the learning rate rose from {rates[index - 1]:.3g} to {rates[index]:.3g} at step {steps[index]}",
                    step=int(steps[index]),
                    before=rates[index - 1],
                    after=rates[index],
                )
    return absent()


def learning_rate_rose_into_trouble(run: Run) -> Finding:
    """At the step of trouble the learning rate stood at least three times above where the loss still fell."""
    steps, rates = run.learning_rate
    trouble = run.trouble_step
    if not rates.size:
        return unmeasured()
    curve = run.loss
    if trouble is None or rates.size < 3 or curve is None:
        return absent()
    at = float(run.learning_rate_at(trouble)[0])
    start = float(rates[0])
    lowest = float(rates[: max(1, int(np.searchsorted(steps, trouble)))].min())
    before = max(lowest, start if start < at else lowest)
    return when(
        at > 3 * before > 0 and trouble > 5,
        f"the learning rate had risen from {before:.2g} to {at:.2g} when the loss broke away at step {trouble}",
        step=trouble,
        before=before,
        after=at,
    )


def learning_rate_collapsed_early(run: Run) -> Finding:
    """The learning rate fell below a hundredth of its peak well before the end, while the loss was still high."""
    steps, rates = run.learning_rate
    curve = run.loss
    if not rates.size or curve is None:
        return unmeasured()
    peak = float(rates.max())
    after = np.flatnonzero((rates < 0.015 * peak) & (np.arange(rates.size) > int(rates.argmax())))
    if not after.size or peak <= 0:
        return absent()
    step = int(steps[after[0]])
    last = int(curve.steps[-1]) if curve.steps.size else 0
    if rates[after[0] :].max() > 0.05 * peak or step > 0.75 * last:
        return absent()
    # The step of the change that ended the last stretch near the peak.
    held = int(np.flatnonzero(rates >= 0.5 * peak)[-1])
    fall_start = int(steps[held + 1]) if held + 1 < steps.size else step
    share = (last - step) / max(1, last)
    still_high = not (curve.first > 0 and curve.end < 0.05 * curve.first)
    return when(
        still_high,
        f"the learning rate fell from {peak:.2g} to {float(rates[after[0]]):.2g} by step {step}, with {100 * share:.0f} % of the run to go",
        step=fall_start,
        peak=peak,
        after=float(rates[after[0]]),
    )


def momentum_extreme(run: Run) -> Finding:
    """Momentum (or beta1) at 0.98 or more."""
    if run.learned_to(0.2):
        return absent()
    momentum = run.setting("momentum")
    betas = run.setting("betas")
    value = float(momentum) if isinstance(momentum, (int, float)) and momentum else None
    if isinstance(betas, list) and betas:
        value = float(betas[0])
    if value is None:
        return absent() if run.optimizers else unmeasured()
    return when(
        value >= 0.98, f"momentum is {value:g}: a step carries {1 / max(1e-9, 1 - value):.0f} gradients", momentum=value
    )


def momentum_dominates_updates(run: Run) -> Finding:
    """An SGD update is more than 15 times learning rate × gradient."""
    if run.adaptive or not run.optimizers:
        return absent() if run.optimizers else unmeasured()
    steps_u, update = run.of_optimizer("update.norm")
    steps_g, gradient = run.of_optimizer("gradient.norm")
    if update.size < 10 or gradient.size < 10:
        return unmeasured()
    lookup = dict(zip(steps_g.tolist(), gradient.tolist()))
    rates = run.learning_rate_at(steps_u)
    ratios = [
        u / (r * lookup[s])
        for s, u, r in zip(steps_u.tolist(), update.tolist(), rates.tolist())
        if r > 0 and lookup.get(s, 0) > 0
    ]
    ratios = [value for value in ratios if math.isfinite(value)]
    if len(ratios) < 8:
        return unmeasured()
    middle = float(np.median(ratios[len(ratios) // 3 :]))
    return when(middle > 15, f"updates are {middle:.0f} times learning rate × gradient", ratio=middle)


def _adam_step_size(run: Run) -> tuple[np.ndarray, np.ndarray] | None:
    """Root mean square of an update's entries over the learning rate: about 1 for Adam on fresh gradients."""
    if "Adam" not in run.optimizer_class:
        return None
    steps, update = run.of_optimizer("update.norm")
    _, elements = run.of_optimizer("update.elements")
    if update.size < 5 or elements.size != update.size:
        return None
    rates = run.learning_rate_at(steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        return steps, update / np.sqrt(np.maximum(elements, 1)) / rates


def adam_epsilon_swamps(run: Run) -> Finding:
    """Adam's updates are far below its learning rate because epsilon is far above the gradients."""
    epsilon = run.setting("eps")
    found = _adam_step_size(run)
    if found is None or not isinstance(epsilon, (int, float)):
        return absent() if run.optimizers else unmeasured()
    _, size = found
    _, gradient = run.of_optimizer("gradient.norm")
    _, elements = run.of_optimizer("update.elements")
    if not gradient.size or not elements.size:
        return unmeasured()
    typical = float(np.median(gradient)) / math.sqrt(max(1.0, float(elements[0])))
    middle = float(np.median(_finite(size)[: max(5, size.size // 2)])) if _finite(size).size else math.nan
    return when(
        epsilon > 3 * typical > 0 and middle < 0.2 and epsilon > 1e-7,
        f"epsilon {epsilon:g} is {epsilon / max(typical, 1e-30):.2g} times a typical gradient entry; steps are {middle:.2g} of the learning rate",
        epsilon=float(epsilon),
        gradient=typical,
    )


def adam_step_oversized(run: Run) -> Finding:
    """One Adam step moved entries by several times the learning rate: the second moment had gone stale."""
    found = _adam_step_size(run)
    if found is None:
        return absent() if run.optimizers else unmeasured()
    steps, size = found
    betas = run.setting("betas")
    beta2 = float(betas[1]) if isinstance(betas, list) and len(betas) > 1 else 0.999
    later = steps >= 10
    if not later.any():
        return unmeasured()
    values = np.where(np.isfinite(size[later]), size[later], 0)
    worst = int(steps[later][np.argmax(values)])
    return when(
        float(values.max()) > 6,
        f"at step {worst} Adam moved entries by {values.max():.1f} times the learning rate (beta2 {beta2:g})",
        step=worst,
        size=float(values.max()),
        beta2=beta2,
    )


def adam_beta2_unusual(run: Run) -> Finding:
    """beta2 outside 0.9 to 0.9999, or below beta1."""
    if run.learned_to(0.2):
        return absent()
    betas = run.setting("betas")
    if not isinstance(betas, list) or len(betas) < 2:
        return absent() if run.optimizers else unmeasured()
    return when(
        betas[1] < 0.9 or betas[1] > 0.9999 or betas[1] < betas[0] - 1e-9,
        f"beta2 is {betas[1]:g} (usual: 0.95 to 0.999)",
        beta2=betas[1],
    )


def adam_epsilon_unusual(run: Run) -> Finding:
    """Epsilon of 1e-4 or more for an adaptive optimizer."""
    if run.learned_to(0.2):
        return absent()
    epsilon = run.setting("eps")
    if not isinstance(epsilon, (int, float)):
        return absent() if run.optimizers else unmeasured()
    half = any(p.kind == "parameter" and p.details.get("dtype") == "float16" for p in run.trace.places)
    return when(epsilon >= 1e-4 and not half, f"epsilon is {epsilon:g} (default 1e-8)", epsilon=float(epsilon))


def adam_epsilon_vanishes_in_half(run: Run) -> Finding:
    """Adam's epsilon is zero in float16 (its smallest positive number is 6e-8), and the parameters are float16."""
    epsilon = run.setting("eps")
    if not isinstance(epsilon, (int, float)) or "Adam" not in run.optimizer_class:
        return absent() if run.optimizers else unmeasured()
    half = [p for p in run.trace.places if p.kind == "parameter" and p.details.get("dtype") == "float16"]
    return when(
        bool(half) and epsilon < 3e-8,
        f"epsilon {epsilon:g} is zero in float16, and so is the square of most gradients: the step divides by zero",
        epsilon=float(epsilon),
    )


def weight_decay_dominates(run: Run) -> Finding:
    """The decay term outweighs the gradient, or the decay alone would shrink the weights to nothing in this run."""
    if run.learned_to(0.2):
        return absent()
    decay = run.setting("weight_decay")
    if not run.optimizers:
        return unmeasured()
    if not isinstance(decay, (int, float)) or decay <= 0:
        return absent()
    series_w, series_g = run.series("parameter.weight_norm"), run.series("parameter.gradient_norm")
    if not series_w or not series_g:
        return unmeasured()
    decoupled = "AdamW" in run.optimizer_class or bool(run.setting("decoupled_weight_decay"))
    if decoupled:
        curve = run.loss
        steps = curve.count if curve is not None else 0
        rates = run.learning_rate_at(np.arange(max(1, steps)))
        exponent = float(decay) * float(np.nansum(rates))
        return when(
            exponent > 2.0, f"decay alone shrinks the weights by exp(-{exponent:.1f}) over the run", exponent=exponent
        )
    weights = {n: np.nanmedian(series_w.values[:, i]) for i, n in enumerate(series_w.names)}
    gradients = {n: np.nanmedian(series_g.values[:, i]) for i, n in enumerate(series_g.names)}
    ratios = [
        float(decay * weights[n] / gradients[n])
        for n in weights
        if n in gradients and gradients[n] > 0 and n.endswith("weight")
    ]
    ratios = [ratio for ratio in ratios if math.isfinite(ratio)]
    if not ratios:
        return unmeasured()
    middle = float(np.median(ratios))
    return when(
        middle > 1.0 and decay >= 5e-3,
        f"the decay term is {middle:.2g} times the gradient",
        ratio=middle,
        decay=float(decay),
    )


def weights_shrink(run: Run) -> Finding:
    """The norms of most weight matrices fall below half of what they were."""
    series = run.series("parameter.weight_norm")
    if not series or series.values.shape[0] < 10:
        return unmeasured()
    ratios = []
    for index, place in enumerate(series.places):
        if len(place.details.get("shape", ())) < 2:
            continue
        column = series.values[:, index]
        column = column[np.isfinite(column)]
        if column.size >= 5 and column[0] > 0:
            ratios.append(column[-1] / column[0])
    if not ratios:
        return unmeasured()
    middle = float(np.median(ratios))
    return when(middle < 0.5, f"the weights shrink to {100 * middle:.2g} % of their initial norm", ratio=middle)


def weights_grow(run: Run) -> Finding:
    """The norms of most weight matrices more than triple."""
    series = run.series("parameter.weight_norm")
    if not series or series.values.shape[0] < 10:
        return unmeasured()
    ratios = []
    for index, place in enumerate(series.places):
        if len(place.details.get("shape", ())) < 2:
            continue
        column = series.values[:, index]
        column = column[np.isfinite(column)]
        if column.size >= 5 and column[0] > 1e-6:
            ratios.append(column[-1] / column[0])
    if not ratios:
        return unmeasured()
    middle = float(np.median(ratios))
    return when(middle > 3, f"the weights grew {middle:.2g}-fold", ratio=middle)


def optimizer_maximizes(run: Run) -> Finding:
    """The optimizer was built with maximize=True."""
    if not run.optimizers:
        return unmeasured()
    return when(bool(run.setting("maximize")), "the optimizer was built with maximize=True")


def spike_without_trigger(run: Run) -> Finding:
    """A gradient spike at which neither the learning rate, nor the inputs, nor the targets did anything unusual."""
    spike = gradient_spikes(run)
    if spike.present is None:
        return unmeasured()
    if not spike.present or spike.step is None:
        return absent()
    _steps, rates = run.learning_rate
    recent = run.learning_rate_at(np.array([max(0, spike.step - 30), spike.step]))
    if rates.size and recent[1] > 2 * recent[0]:
        return absent()
    for quantity in ("input.absmax", "target.max", "target.min", "input.std"):
        series = run.series(quantity)
        for index in range(len(series.places)):
            column = np.abs(series.values[:, index])
            near = np.abs(series.steps - spike.step) <= 1
            before = (series.steps < spike.step - 1) & np.isfinite(column)
            at = column[near & ~np.isnan(column)]
            if at.size and before.sum() >= 5 and at.max() > 3 * max(float(np.max(column[before][-40:])), 1e-12):
                return absent()
    return present(f"at step {spike.step} neither the data nor the learning rate did anything unusual", step=spike.step)


def spike_after_learning(run: Run) -> Finding:
    """The first gradient spike comes after step 15, when the loss had fallen by a fifth at least."""
    spike = gradient_spikes(run)
    curve = run.loss
    if spike.present is None or curve is None:
        return unmeasured()
    if not spike.present or spike.step is None or spike.step < 15:
        return absent()
    before = curve.values[(curve.steps < spike.step) & np.isfinite(curve.values)]
    if before.size < 10:
        return absent()
    reached = float(np.median(before[-10:]))
    return when(
        reached < 0.8 * curve.first,
        f"the loss had fallen to {reached:.3g} before the spike at step {spike.step}",
        step=spike.step,
    )
