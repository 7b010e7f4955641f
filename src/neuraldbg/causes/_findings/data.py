"""What came in: inputs and targets."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.loss_curve import class_shares
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def _model_inputs(run: Run, quantity: str) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """(name, steps, values) of a quantity for every floating input."""
    series = run.series(quantity).of_kind("input")
    integer = run.series("input.integer").of_kind("input")
    ids = {name for i, name in enumerate(integer.names) if np.nanmax(integer.values[:, i], initial=0.0) > 0}
    return [(name, *series.column(name)) for name in series.names if name not in ids]


def input_non_finite(run: Run) -> Finding:
    """A batch carried NaN or Inf into the model."""
    facts = [f for f in run.trace.facts("nonfinite.input") if not f.data.get("evaluation")]
    if not facts:
        found = run.trace.facts("nonfinite.loss")
        producer = found[0].data.get("producer") if found else None
        known = run.series("input.nonfinite").of_kind("input")
        seen_finite = bool(known) and bool((np.abs(known.steps - found[0].step) <= 0).any()) if found else False
        if producer and producer.get("kind") == "input" and not found[0].data.get("bad_parameters") and not seen_finite:
            return present(
                f"a value that came in with the data of step {found[0].step} is not finite", step=found[0].step
            )
        return absent() if run.trace.series("input.batch_size") else unmeasured()
    fact = facts[0]
    where = f", rows {_list(fact.data['rows'])}" if fact.data.get("rows") else ""
    where += f", features {_list(fact.data['features'])}" if fact.data.get("features") else ""
    return present(
        f"the input of step {fact.step} holds {fact.data['count']} value(s) that are NaN or infinite{where}",
        step=fact.step,
        count=fact.data["count"],
    )


def _list(values: list[int]) -> str:
    return ", ".join(str(v) for v in values[:5]) + (" …" if len(values) > 5 else "")


def non_finite_begins_at_input(run: Run) -> Finding:
    """The first non-finite loss or gradient comes in the step of the first non-finite input, or just after."""
    facts = [f for f in run.trace.facts("nonfinite.input") if not f.data.get("evaluation")]
    troubles = [f.step for f in (*run.trace.facts("nonfinite.loss"), *run.trace.facts("nonfinite.gradient"))]
    if run.bad_step is not None:
        troubles.append(run.bad_step)
    if not facts or not troubles:
        return absent()
    return when(
        facts[0].step <= min(troubles) <= facts[0].step + 2,
        f"it is the first value of the run that is not finite, at step {facts[0].step}",
        step=facts[0].step,
    )


def inputs_out_of_scale(run: Run) -> Finding:
    """Inputs are tens of units from zero, or their spread is far from one."""
    if run.learned_to(0.38):
        return absent()
    found = _model_inputs(run, "input.std")
    if not found:
        return unmeasured()
    means = {name: values for name, _, values in _model_inputs(run, "input.mean")}
    worst: tuple[float, str] = (0.0, "")
    for name, _, spread in found:
        first = float(np.median(spread[:10]))
        center = float(np.median(np.abs(means.get(name, np.zeros(1))[:10])))
        size = math.hypot(first, center)
        if size > worst[0]:
            worst = (size, f"input {name} has mean {np.median(means[name][:10]):.3g} and spread {first:.3g}")
    return when(worst[0] > 8, f"{worst[1]} (healthy: about 0 and 1)", size=worst[0])


def inputs_far_off_scale(run: Run) -> Finding:
    """Inputs are a hundred units and more from zero."""
    if run.learned_to(0.38):
        return absent()
    found = _model_inputs(run, "input.absmax")
    if not found:
        return unmeasured()
    worst = max((float(np.median(values[:10])), name) for name, _, values in found)
    return when(worst[0] > 100, f"input {worst[1]} reaches {worst[0]:.3g}", largest=worst[0])


def inputs_tiny(run: Run) -> Finding:
    """Every floating input has a spread below 0.02 and varies all the same."""
    if run.learned_to(0.38):
        return absent()
    found = _model_inputs(run, "input.std")
    if not found:
        return unmeasured()
    largest = max(float(np.median(values[:10])) for _, _, values in found)
    return when(0 < largest < 0.02, f"inputs have a spread of {largest:.2g}", spread=largest)


def features_of_unequal_scale(run: Run) -> Finding:
    """The largest feature's spread is more than a hundred times the smallest's, and is not ordinary itself."""
    if run.learned_to(0.38):
        return absent()
    found = _model_inputs(run, "input.feature_std_ratio")
    if not found:
        return unmeasured()
    largest = {name: values for name, _, values in _model_inputs(run, "input.feature_std_max")}
    ratio, name = max((float(np.median(values[:10])), name) for name, _, values in found)
    peak = float(np.median(largest[name][:10])) if name in largest else 0.0
    return when(
        ratio > 100 and peak > 8, f"features of input {name} differ in spread by a factor of {ratio:.3g}", ratio=ratio
    )


def input_outlier(run: Run) -> Finding:
    """One batch lies far outside the running range of the inputs, and the batches around it do not."""
    best = (0.0, 0, "")
    seen = False
    for name, steps, values in _model_inputs(run, "input.absmax"):
        if values.size < 12:
            continue
        seen = True
        for index in range(5, values.size):
            before = values[max(0, index - 40) : index]
            middle, top = float(np.median(before)), float(before.max())
            after = values[index + 1 : index + 6]
            isolated = after.size == 0 or float(np.median(after)) < 3 * top
            if (
                middle > 0
                and np.isfinite(values[index])
                and values[index] > 6 * middle
                and values[index] > 2.5 * top
                and isolated
            ):
                best = max(best, (values[index] / middle, int(steps[index]), name))
    if not seen:
        return unmeasured()
    return when(
        best[0] > 0,
        f"the input of step {best[1]} reaches {best[0]:.0f} times the usual extreme",
        step=best[1],
        ratio=best[0],
    )


def target_outlier(run: Run) -> Finding:
    """One batch's targets lie far outside their running range."""
    series_low, series_high = run.series("target.min"), run.series("target.max")
    best = (0.0, 0)
    if not series_high:
        return unmeasured() if run.loss is None else absent()
    for name in series_high.names:
        steps, high = series_high.column(name)
        _, low = series_low.column(name)
        size = np.maximum(np.abs(high), np.abs(low))
        said_steps, said = run.series("prediction.max").column(name)
        for index in range(8, size.size):
            at = np.flatnonzero(said_steps == steps[index])
            earlier = np.abs(said[max(0, int(at[0]) - 40) : int(at[0])]) if at.size else np.empty(0)
            if at.size and earlier.size and abs(float(said[at[0]])) > 5 * max(float(np.max(earlier)), 1e-12):
                # The target of a hand-written residual is the prediction minus it: an explosion blurs it.
                continue
            before = size[max(0, index - 40) : index]
            middle, top = float(np.median(before)), float(before.max())
            if middle > 0 and size[index] > 6 * middle and size[index] > 2.5 * top:
                best = max(best, (size[index] / middle, int(steps[index])))
    return when(
        best[0] > 0,
        f"the targets of step {best[1]} reach {best[0]:.0f} times the usual extreme",
        step=best[1],
        ratio=best[0],
    )


def outlier_meets_loss_jump(run: Run) -> Finding:
    """An input or target outlier coincides with a jump of the loss or gradient."""
    outliers = [f.step for f in (input_outlier(run), target_outlier(run)) if f.present and f.step is not None]
    curve = run.loss
    if not outliers or curve is None:
        return absent()
    for step in outliers:
        at = np.flatnonzero(curve.steps == step)
        if not at.size or at[0] < 5:
            continue
        index = int(at[0])
        before = curve.values[max(0, index - 20) : index]
        before = before[np.isfinite(before)]
        now = curve.values[index : index + 3]
        now = now[np.isfinite(now)]
        if before.size and (
            not now.size or now.max() > np.median(before) + 6 * max(np.median(np.abs(np.diff(before))), 1e-12)
        ):
            return present(f"the loss jumps in that very step ({np.median(before):.3g} before)", step=step)
    return absent()


def _shift(steps: np.ndarray, values: np.ndarray, scale: np.ndarray | float) -> tuple[float, int]:
    """The earliest large and lasting change of level, in units of ``scale``, and its step."""
    found: list[tuple[float, int]] = []
    for index in range(8, values.size - 5, max(1, values.size // 200)):
        before, after = values[:index], values[index : index + 40]
        center = float(np.median(before[-40:]))
        within = max(float(np.percentile(np.abs(before - np.median(before)), 90)), 1e-12)
        change = abs(float(np.median(after)) - center)
        if change > 5 * within:
            unit = float(np.median(scale[:index])) if isinstance(scale, np.ndarray) else scale
            found.append((change / max(unit, 1e-12), int(steps[index])))
    if not found:
        return (0.0, 0)
    largest = max(size for size, _ in found)
    return next((size, step) for size, step in found if size >= 0.5 * min(largest, 2.0))


def input_level_shifted(run: Run) -> Finding:
    """The mean or spread of the inputs changes level at one step and stays changed."""
    means = {name: (steps, values) for name, steps, values in _model_inputs(run, "input.mean")}
    best = (0.0, 0, "")
    seen = False
    for name, steps, spread in _model_inputs(run, "input.std"):
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


def inputs_do_not_vary(run: Run) -> Finding:
    """Inputs are the same for every sample of a batch, or nearly all their features are."""
    constant = {name: values for name, _, values in _model_inputs(run, "input.constant_features")}
    spreads = run.series("input.batch_spread").of_kind("input")
    if not spreads:
        return unmeasured()
    stds = run.series("input.std").of_kind("input")
    flat: list[Finding] = []
    varies = False
    for name in spreads.names:
        steps, spread = spreads.column(name)
        if spread.size < 3:
            continue
        _, own = stds.column(name)
        typical = float(np.median(spread))
        share = float(np.median(constant[name])) if name in constant else (1.0 if typical == 0 else 0.0)
        relative = (
            typical / float(np.median(own)) if own.size and np.median(own) > 0 else (0.0 if typical == 0 else 1.0)
        )
        _, zeros = run.series("input.zero_share").of_kind("input").column(name)
        empty = float(np.median(zeros)) if zeros.size else 0.0
        low = typical == 0 or share > 0.9 or (relative < 1e-3 and own.size > 0)
        varies = varies or not low
        if low:
            flat.append(
                present(
                    f"input {name} hardly varies: {100 * share:.0f} % of its features are equal in all samples, "
                    f"{100 * empty:.0f} % of its values are zero",
                    step=int(steps[0]),
                    share=share,
                    spread=typical,
                )
            )
    # A hidden state of zeros or a mask beside an input that varies is no fault.
    return flat[0] if flat and not varies else absent()


def inputs_nearly_all_zero(run: Run) -> Finding:
    """More than 97 % of the input values are zero."""
    found = _model_inputs(run, "input.zero_share")
    if not found:
        return unmeasured()
    share, name = min((float(np.median(values)), name) for name, _, values in found)
    return when(share > 0.97, f"{100 * share:.1f} % of the values of input {name} are zero", share=share)


def target_non_finite(run: Run) -> Finding:
    """Targets are NaN or infinite while the prediction is finite."""
    facts = run.trace.facts("nonfinite.loss")
    producer = facts[0].data.get("producer") if facts else None
    if (
        producer
        and producer.get("kind") == "constant"
        and not producer.get("module")
        and not facts[0].data.get("bad_parameters")
    ):
        return present(f"what the prediction of step {facts[0].step} is compared with holds NaN", step=facts[0].step)
    series = run.series("target.nonfinite")
    if not series:
        return absent() if facts else unmeasured()
    largest = run.series("prediction.max")
    for index, name in enumerate(series.names):
        for row in np.flatnonzero(np.nan_to_num(series.values[:, index], nan=0.0) > 0):
            step = int(series.steps[row])
            steps, predicted = largest.column(name)
            at = predicted[steps == step]
            # A hand-written residual of an infinite prediction gives no target.
            if at.size and not np.isfinite(at).all():
                break
            return present(f"targets of step {step} are NaN or infinite", step=step)
    return absent()


def target_out_of_range(run: Run) -> Finding:
    """Class ids or probabilities outside what the loss accepts."""
    series = run.series("target.out_of_range")
    for fact in run.trace.facts("run.exception"):
        message = str(fact.data.get("message", ""))
        if "out of bounds" in message and "Target" in message:
            return present(f"the loss refused a target: {message.splitlines()[0][:120]}", step=fact.step)
        if "between 0 and 1" in message:
            return present(f"the loss refused its values: {message.splitlines()[0][:120]}", step=fact.step)
    if not series:
        return unmeasured()
    bad = np.nan_to_num(series.values, nan=0.0) > 0
    if not bad.any():
        return absent()
    row = int(np.flatnonzero(bad.any(axis=1))[0])
    if run.loss is not None and run.loss.kind == "binary_cross_entropy_with_logits":
        mild = (
            float(np.nanmax(run.series("target.max").values)) <= 1.0
            and float(np.nanmin(run.series("target.min").values)) >= 0.0
        )
        if mild:
            return absent()
    low = run.series("target.min").values
    high = run.series("target.max").values
    extent = f" (from {np.nanmin(low):.3g} to {np.nanmax(high):.3g})" if low.size and high.size else ""
    share = float(np.nanmax(series.values))
    return present(
        f"targets lie outside the range that the loss accepts{extent}", step=int(series.steps[row]), share=share
    )


def _target_scale(run: Run) -> tuple[float, float] | None:
    curve = run.loss
    if curve is None or curve.kind not in ("mse", "l1", "smooth_l1", "huber", "handmade_square", "handmade_absolute"):
        return None
    _, spread = run.series("target.std").column(curve.place.name)
    _, mean = run.series("target.mean").column(curve.place.name)
    spread, mean = spread[np.isfinite(spread)], mean[np.isfinite(mean)]
    if not spread.size or not mean.size:
        return None
    total = math.sqrt(float(np.mean(spread[:50] ** 2)) + float(np.var(mean[:50])))
    return abs(float(np.median(mean[:50]))), total


def targets_out_of_scale(run: Run) -> Finding:
    """Regression targets tens of units from zero, or with a spread far above one."""
    if run.learned_to(0.38):
        return absent()
    scale = _target_scale(run)
    if scale is None:
        return unmeasured() if run.loss is None else absent()
    mean, spread = scale
    size = math.hypot(mean, spread)
    return when(size > 10, f"targets lie around {mean:.3g} with a spread of {spread:.3g}", mean=mean, spread=spread)


def targets_tiny(run: Run) -> Finding:
    """Regression targets with a spread below 0.02."""
    if run.learned_to(0.38):
        return absent()
    scale = _target_scale(run)
    if scale is None:
        return unmeasured() if run.loss is None else absent()
    mean, spread = scale
    return when(
        0 < math.hypot(mean, spread) < 0.02, f"targets have a size of {math.hypot(mean, spread):.2g}", spread=spread
    )


def one_class_dominates(run: Run) -> Finding:
    """One class holds at least 85 % of the targets."""
    curve = run.loss
    if curve is None:
        return unmeasured()
    if run.adversarial:
        # Real against generated, all of one kind per call: no imbalance of data.
        return absent()
    shares = class_shares(run.trace, curve.place.name)
    if shares is not None:
        top, few = float(shares[0].max()), int((shares[0] > 0).sum())
        return when(
            top >= 0.85 and few > 1, f"{100 * top:.0f} % of the targets are class {int(shares[0].argmax())}", share=top
        )
    if curve.kind.startswith("binary_cross_entropy"):
        _, mean = run.series("target.mean").column(curve.place.name)
        if mean.size:
            top = max(float(np.mean(mean)), 1 - float(np.mean(mean)))
            return when(
                0.85 <= top < 1,
                f"{100 * top:.0f} % of the targets are {'1' if np.mean(mean) > 0.5 else '0'}",
                share=top,
            )
    return absent()


def predictions_collapse_on_a_class(run: Run) -> Finding:
    """In the last third the model predicts one class for (nearly) everything, the rare ones for a fifth of their share."""
    curve = run.loss
    if curve is None:
        return unmeasured()
    _, top = run.series("prediction.top_share").column(curve.place.name)
    if top.size < 9:
        return unmeasured()
    late = float(np.mean(top[2 * top.size // 3 :]))
    _, asked = run.series("target.top_share").column(curve.place.name)
    rare = 1 - float(np.mean(asked)) if asked.size else 0.05
    return when(
        1 - late < max(0.015 if rare > 0.05 else 0.0, 0.2 * rare) and rare > 0,
        f"the model predicts one class for {100 * late:.0f} % of the samples",
        share=late,
    )


def loss_is_reweighted(run: Run) -> Finding:
    """The loss weights classes."""
    curve = run.loss
    if curve is None or not curve.terms:
        return unmeasured()
    return when(any(term.get("weighted") for term in curve.terms), "the loss weights classes")


def batches_ordered_by_target(run: Run) -> Finding:
    """Within a batch targets are nearly alike while the run's targets are not; successive batches are alike."""
    curve = run.loss
    if curve is None:
        return unmeasured()
    name = curve.place.name
    shares = class_shares(run.trace, name)
    _, entropy = run.series("target.entropy").column(name)
    _, top_class = run.series("target.top_class").column(name)
    if shares is not None and entropy.size >= 10:
        positive = shares[0][shares[0] > 0]
        whole = float(-(positive * np.log(positive)).sum())
        within = float(np.median(entropy))
        runs = float(np.mean(np.diff(top_class) == 0)) if top_class.size > 1 else 0.0
        batch = run.series("loss.elements").column(name)[1]
        enough = not batch.size or float(np.median(batch)) >= 4
        return when(
            whole > 0.3 and within < 0.4 * whole and enough and (runs > 0.5 or within < 0.1 * whole),
            f"the targets of a batch are nearly all of one class (entropy {within:.2g}, over the run {whole:.2g})",
            within=within,
            whole=whole,
        )
    _, spread = run.series("target.std").column(name)
    _steps, mean = run.series("target.mean").column(name)
    spread, mean = spread[np.isfinite(spread)], mean[np.isfinite(mean)]
    if spread.size >= 20 and mean.size == spread.size:
        between, inside = float(np.var(mean)), float(np.mean(spread**2))
        centered = mean - mean.mean()
        lag = float((centered[1:] * centered[:-1]).sum() / max((centered**2).sum(), 1e-30))
        return when(
            between > 3 * max(inside, 1e-30) and inside > 0 and lag > 0.3,
            f"targets differ between batches {math.sqrt(between / max(inside, 1e-30)):.1f} times as much as within",
            ratio=between / max(inside, 1e-30),
        )
    return absent() if entropy.size or spread.size else unmeasured()


def predictions_chase_batches(run: Run) -> Finding:
    """The loss falls within a block of alike batches and jumps at its border, again and again."""
    curve = run.loss
    if curve is None or curve.count < 40:
        return unmeasured()
    values = curve.finite
    jumps = np.diff(values)
    level = max(float(np.median(np.abs(values))), 1e-12)
    ups = np.flatnonzero(jumps > max(0.5 * level, 6 * float(np.median(np.abs(jumps)))))
    return when(
        3 <= ups.size < 0.15 * values.size, f"the loss jumps {ups.size} times and falls in between", jumps=ups.size
    )


def accuracy_at_chance(run: Run) -> Finding:
    """In the last third the predictions hit no more often than always guessing the commonest class."""
    curve = run.loss
    if curve is None:
        return unmeasured()
    _, accuracy = run.series("prediction.accuracy").column(curve.place.name)
    if accuracy.size < 15 or any(term.get("weighted") for term in curve.terms):
        return unmeasured()
    shares = class_shares(run.trace, curve.place.name)
    _, top = run.series("target.top_share").column(curve.place.name)
    chance = float(shares[0].max()) if shares is not None else float(np.median(top)) if top.size else 0.5
    late = float(np.mean(accuracy[2 * accuracy.size // 3 :]))
    return when(
        late < chance + 0.06,
        f"accuracy is {late:.2f}; always guessing the commonest class gives {chance:.2f}",
        accuracy=late,
    )


def predictions_do_not_vary(run: Run) -> Finding:
    """In the last third the prediction is the same for every sample of a batch."""
    curve = run.loss
    if curve is None:
        return unmeasured()
    _, spread = run.series("prediction.batch_spread").column(curve.place.name)
    if spread.size < 9:
        return unmeasured()
    late = float(np.median(spread[2 * spread.size // 3 :]))
    _, _own = run.series("prediction.std").column(curve.place.name)
    _, target = run.series("target.std").column(curve.place.name)
    reference = float(np.median(target)) if target.size and np.isfinite(np.median(target)) else 1.0
    if "binary" in curve.kind or curve.kind == "cross_entropy":
        reference = 1.0
    return when(
        late < 0.03 * max(reference, 1e-12),
        f"the prediction hardly differs between samples (spread {late:.2g})",
        spread=late,
    )


def rare_classes_are_missed(run: Run) -> Finding:
    """One class holds at least 85 % of the targets, and in the last third at most half of the others are recognized."""
    curve = run.loss
    dominant = one_class_dominates(run)
    if curve is None or dominant.present is None:
        return unmeasured()
    if not dominant.present:
        return absent()
    if curve.constant is not None and curve.constant > 1e-9 and curve.end < 0.3 * curve.constant:
        # Far below what the shares of the classes give: told apart, whatever a threshold of one half makes of it.
        return absent()
    steps, recall = run.series("prediction.rare_recall").column(curve.place.name)
    shares = dict(zip(*(column.tolist() for column in run.series("target.top_share").column(curve.place.name))))
    # A batch without a rare sample says nothing.
    recall = recall[np.array([shares.get(step, 0.0) < 1.0 for step in steps.tolist()], bool) & (recall >= 0)]
    if recall.size >= 9:
        late = float(np.mean(recall[2 * recall.size // 3 :]))
        return when(
            late < 0.5, f"of the samples outside the commonest class {100 * late:.0f} % are recognized", recall=late
        )
    collapsed = predictions_collapse_on_a_class(run)
    return when(bool(collapsed.present), collapsed.sentence)
