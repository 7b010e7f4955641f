"""How the loss is built: its graph, its shapes, its sign and scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding

_PROBABILITIES = frozenset({"Softmax", "Sigmoid"})
_RANGES: Mapping[str, tuple[float, float]] = {
    "Relu": (0.0, math.inf),
    "Threshold": (0.0, math.inf),
    "Sigmoid": (0.0, 1.0),
    "Softmax": (0.0, 1.0),
    "Tanh": (-1.0, 1.0),
    "Softplus": (0.0, math.inf),
    "Hardtanh": (-1.0, 1.0),
    "Hardsigmoid": (0.0, 1.0),
    "Exp": (0.0, math.inf),
    "LogSoftmax": (-math.inf, 0.0),
    "LogSigmoid": (-math.inf, 0.0),
    "LogSigmoidForward": (-math.inf, 0.0),
}
_RESIDUAL = ("mse", "l1", "smooth_l1", "huber", "handmade_square", "handmade_absolute")
_BOUNDED_BELOW = (*_RESIDUAL, "cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits")
_PLAIN = {"Clamp", "ClampMin", "ClampMax"}


def _terms(run: Run) -> list[tuple[str, Mapping[str, Any]]]:
    return [(curve.place.name, term) for curve in run.curves for term in curve.terms]


def _source(run: Run, stream: str) -> str | None:
    place = run.trace.place("loss", stream)
    return str(place.details["source"]) if place is not None and place.details.get("source") else None


def _layer(term: Mapping[str, Any], index: int) -> str | None:
    """The module of the output activation, else the module that feeds it."""
    modules = term.get("chain_modules") or []
    if index < len(modules) and modules[index]:
        return str(modules[index])
    return str(term["producer"]) if term.get("producer") is not None else None


def softmax_before_loss(run: Run) -> Finding:
    """The loss applies softmax or sigmoid to what went through one already."""
    terms = _terms(run)
    if not terms:
        return unmeasured()
    for stream, term in terms:
        chain = [name for name in term["chain"] if name not in _PLAIN]
        if term["kind"] == "cross_entropy" and chain[:1] == ["LogSoftmax"]:
            rest, offset = chain[1:], 1
        elif term["kind"] == "binary_cross_entropy_with_logits":
            rest, offset = chain, 0
        elif term["kind"] == "binary_cross_entropy" and chain[:1] in (["Sigmoid"], ["Softmax"]):
            rest, offset = chain[1:], 1
        elif chain[:1] == ["Log"] and term["kind"] in ("other", "cross_entropy"):
            rest, offset = chain[2:], 2
        elif term["kind"] == "other" and chain[:1] == ["LogSoftmax"]:
            rest, offset = chain[1:], 1
        elif term["kind"] == "other" and chain[:1] in (["Softplus"], ["LogSigmoidForward"], ["LogSigmoid"]):
            # softplus(x) - y x is binary cross entropy by hand: x are logits.
            rest, offset = chain[1:], 1
        else:
            continue
        twice = next((i for i, name in enumerate(rest[:2]) if name in _PROBABILITIES), None)
        if twice is None:
            continue
        name = rest[twice]
        classes = term.get("class_count")
        floor = (
            f"; with {classes} classes it cannot go below {math.log(1 + (classes - 1) / math.e):.2f}" if classes else ""
        )
        return present(
            f"the loss ({term['operation']}) takes the {'softmax' if offset else 'sigmoid'} of outputs that went through "
            f"{name.lower()} already{floor}",
            layer=_layer(term, offset + twice),
            source=_source(run, stream),
        )
    return absent()


def output_activation_out_of_reach(run: Run) -> Finding:
    """The last activation cannot give what the targets ask for."""
    terms = _terms(run)
    if not terms:
        return unmeasured()
    for stream, term in terms:
        chain = [name for name in term["chain"] if name not in _PLAIN]
        layer_index = 0
        if term["kind"] == "cross_entropy" and chain[:1] == ["LogSoftmax"]:
            chain, layer_index = chain[1:], 1
        if not chain or chain[0] not in _RANGES:
            continue
        low, high = _RANGES[chain[0]]
        layer = _layer(term, layer_index)
        if term["kind"] in _RESIDUAL:
            _, smallest = run.series("target.min").column(stream)
            _, largest = run.series("target.max").column(stream)
            _, spread = run.series("target.std").column(stream)
            if not smallest.size:
                continue
            # Noise around a bound that suits the targets is no fault.
            margin = 0.5 * max(float(np.median(spread)), 1e-12)
            below, above = float(np.median(smallest)), float(np.median(largest))
            if below < low - margin or above > high + max(
                margin, 0.02 * (high - low if math.isfinite(high - low) else 0)
            ):
                bound = f"{low:g} to {high:g}"
                return present(
                    f"the output goes through {chain[0].lower()} ({bound}), and the targets run from {below:.3g} to {above:.3g}",
                    layer=layer,
                    source=_source(run, stream),
                    target_min=below,
                    target_max=above,
                )
        elif term["kind"] == "binary_cross_entropy_with_logits" and chain[0] in (
            "Relu",
            "Threshold",
            "Softplus",
            "Exp",
        ):
            return present(
                f"the logits go through {chain[0].lower()}: a negative one cannot be produced, and no probability below 0.5",
                layer=layer,
                source=_source(run, stream),
            )
        elif term["kind"] == "cross_entropy" and chain[0] in ("Relu", "Tanh", "Threshold", "Hardtanh", "LogSigmoid"):
            return present(
                f"the logits go through {chain[0].lower()} before the loss, which limits what they can say",
                layer=layer,
                source=_source(run, stream),
            )
        elif term["kind"] == "binary_cross_entropy_with_logits" and chain[0] in ("Tanh", "Hardtanh", "LogSoftmax"):
            return present(
                f"the logits go through {chain[0].lower()} before the loss", layer=layer, source=_source(run, stream)
            )
    return absent()


def softmax_over_one_class(run: Run) -> Finding:
    """A softmax (or cross entropy) over a single output: constant, whatever the weights."""
    for stream, term in _terms(run):
        chain = term["chain"]
        size = (term.get("prediction_shape") or [0])[-1]
        single = term.get("class_count") == 1 or (size == 1 and chain[:1] in (["Softmax"], ["LogSoftmax"]))
        if single and any("oftmax" in name for name in chain):
            return present(
                "the softmax runs over a single output and is constant",
                layer=_layer(term, 0),
                source=_source(run, stream),
            )
    return absent() if _terms(run) else unmeasured()


def shapes_broadcast_in_loss(run: Run) -> Finding:
    """Prediction and target are stretched against each other."""
    terms = _terms(run)
    if not terms:
        return unmeasured()
    for stream, term in terms:
        if term.get("stretched"):
            own, wide = term["stretched"]
            return present(
                f"a prediction of shape {tuple(own)} becomes a table of shape {tuple(wide)} in the loss: shapes broadcast",
                source=_source(run, stream),
            )
        if not term["broadcasts"]:
            continue
        own, wide = term["prediction_shape"], term["residual_shape"]
        if own and wide and math.prod(wide) == math.prod(own) * max(own) and max(own) > 1:
            return present(
                f"the prediction has shape {tuple(own)} and the difference to the target {tuple(wide)}: they broadcast",
                source=_source(run, stream),
                step=0,
            )
    return absent()


def loss_negated(run: Run) -> Finding:
    """A loss that is bounded below enters with a minus sign, alone."""
    if not run.curves:
        return unmeasured()
    curve = run.curves[0]
    main = [term for term in curve.terms if term["kind"] in _BOUNDED_BELOW]
    if not curve.terms:
        return unmeasured()
    if len(run.curves) > 1 and run.adversarial:
        return absent()
    negative = [term for term in main if term["sign"] < 0]
    return when(
        bool(main) and len(negative) == len(main),
        f"{main[0]['operation'] if main else ''} enters the loss with a minus sign: training maximizes it",
        source=_source(run, curve.place.name),
    )


def loss_below_its_floor(run: Run) -> Finding:
    """A loss that cannot be negative is, and falls on."""
    curve = run.loss
    if curve is None or not curve.terms:
        return unmeasured()
    kinds = {term["kind"] for term in curve.terms}
    if not kinds <= set(_BOUNDED_BELOW):
        return absent()
    beyond = np.nan_to_num(run.series("target.out_of_range").values, nan=0.0)
    if beyond.size and beyond.max() > 0:
        # Binary cross entropy is negative for targets above one: the targets are to blame.
        return absent()
    return when(
        curve.count > 3 and curve.end < -1e-6, f"the loss is {curve.end:.3g}, and cannot be negative by its kind"
    )


def loss_falls_without_bound(run: Run) -> Finding:
    """The loss goes ever faster below zero."""
    curve = run.loss
    if curve is None or curve.count < 30:
        return unmeasured()
    parts = [float(np.median(part)) for part in np.array_split(curve.finite, 4)]
    falls = [parts[i] - parts[i + 1] for i in range(3)]
    return when(
        parts[3] < -1
        and falls[2] > 0.8 * max(falls[1], 1e-12)
        and falls[1] > 0.5 * falls[0] > 0
        and parts[3] < -3 * abs(parts[0]),
        f"the loss falls without bound, to {parts[3]:.3g}",
    )


def loss_is_summed(run: Run) -> Finding:
    """The main term is summed over at least eight elements, or multiplied by a factor of ten and more."""
    curve = run.loss
    if curve is None or not curve.terms:
        return unmeasured()
    for term in curve.terms:
        stream = curve.place.name
        _, elements = run.series("loss.elements").column(stream)
        count = float(np.median(elements)) if elements.size else math.prod(term.get("residual_shape") or [1])
        factor = float(term.get("factor", 1.0))
        size = factor * count if term["reduction"] == "sum" else factor
        if size >= 8 and term["kind"] != "other":
            how = f"summed over {count:.0f} elements" if term["reduction"] == "sum" else f"multiplied by {factor:g}"
            return present(
                f"the loss is {how}, which makes every gradient {size:.3g} times as large",
                source=_source(run, stream),
                size=size,
            )
    return absent()


def accumulation_undivided(run: Run) -> Finding:
    """Several backwards feed each step, and none of the losses is divided by their number."""
    curve = run.loss
    if curve is None or run.optimizer_steps == 0 or len(run.optimizers) > 1:
        return unmeasured() if curve is None else absent()
    per_step = run.backwards / max(1, run.optimizer_steps)
    if per_step < 3.5 or len(run.curves) > 1:
        return absent()
    factor = max((float(term.get("factor", 1.0)) for term in curve.terms), default=1.0)
    return when(
        factor > 0.6 and not _gradients_are_left(run),
        f"{per_step:.0f} backward passes feed each step and the losses are not divided by {per_step:.0f}",
        source=_source(run, curve.place.name),
        per_step=per_step,
    )


def _gradients_are_left(run: Run) -> bool:
    _, left = run.of_optimizer("gradient.left_norm")
    return bool(left.size > 3 and np.mean(left > 0) > 0.8)


def loss_in_hazardous_operation(run: Run) -> Finding:
    """The first non-finite value was born in a log, root, division, power, exponential or inverse function."""
    facts = run.trace.facts("nonfinite.loss")
    producer = facts[0].data.get("producer") if facts else None
    if producer and producer.get("kind") == "operation" and not facts[0].data.get("bad_parameters"):
        name = producer["operation"]
        if name in _HAZARDOUS:
            where = producer.get("module")
            place = f"inside '{where}'" if where else "inside the loss"
            extreme = (
                producer.get("smallest_input")
                if name in ("Log", "Div", "Sqrt", "Rsqrt")
                else producer.get("largest_input")
            )
            number = f" (argument {extreme:.3g})" if extreme is not None else ""
            return present(
                f"the first value that is not finite comes out of {name.lower()} {place}{number} at step {facts[0].step}",
                step=facts[0].step,
                layer=where if where is not None else producer.get("producer"),
                source=_source(run, run.curves[0].place.name) if run.curves else None,
            )
    return absent() if run.curves else unmeasured()


_HAZARDOUS = frozenset(
    {
        "Log", "Log2", "Log10", "Log1P", "Sqrt", "Rsqrt", "Reciprocal", "Div", "Exp", "Expm1", "Acos", "Asin", "Atanh", "Pow",
        "Std", "Var", "LinalgVectorNorm", "Norm", "Softmax", "Cosh", "Sinh", "Logsumexp", "Tan", "Digamma", "Lgamma",
    }
)  # fmt: skip


def domain_edge_at_trouble(run: Run) -> Finding:
    """At the step of trouble the argument of a root, norm, log, division or inverse function sat at the domain's edge."""
    troubles = [f.step for f in (*run.trace.facts("nonfinite.gradient"), *run.trace.facts("nonfinite.loss"))]
    if not troubles:
        return absent()
    step = min(troubles)
    for quantity, bad in (("domain.margin", lambda v: v <= 1e-12), ("domain.largest", lambda v: not v < 1e30)):
        series = run.series(quantity)
        for index, place in enumerate(series.places):
            rows = (series.steps <= step) & (series.steps >= step - 1)
            values = series.values[rows, index]
            values = values[~np.isnan(values)]
            if values.size and any(bad(v) for v in values):
                usual = series.values[series.steps < step - 1, index]
                usual = usual[~np.isnan(usual)]
                if usual.size > 5 and np.mean([bad(v) for v in usual]) > 0.5:
                    continue
                operation = str(place.details.get("operation", "")).lower()
                return present(
                    f"at step {step} the argument of {operation} reached the edge of its domain",
                    step=step,
                    layer=place.details.get("producer"),
                )
    return absent() if run.series("domain.margin") or run.series("domain.largest") else unmeasured()


def exponential_grows(run: Run) -> Finding:
    """An exponential in the graph reached 1e6 and more."""
    series = run.series("domain.largest")
    if not series:
        return unmeasured()
    for index, place in enumerate(series.places):
        if place.details.get("operation") not in ("Exp", "Expm1", "Cosh", "Sinh"):
            continue
        column = series.values[:, index]
        large = np.flatnonzero(column > 1e6)
        if large.size:
            step = int(series.steps[large[0]])
            return present(
                f"an exponential reached {np.nanmax(column):.2g} at step {step}",
                step=step,
                layer=place.details.get("producer"),
            )
    return absent()


def explosion_precedes(run: Run) -> Finding:
    """Before the first non-finite value loss or gradient had already grown out of all proportion."""
    steps = [f.step for f in (*run.trace.facts("nonfinite.loss"), *run.trace.facts("nonfinite.gradient"))]
    if not steps:
        return absent()
    step = min(steps)
    curve = run.loss
    steps_g, norm = run.of_optimizer("gradient.norm")
    before = norm[(steps_g < step) & np.isfinite(norm)]
    grown = before.size >= 3 and float(before[-3:].max()) > 100 * max(
        float(np.median(before[: max(2, before.size // 3)])), 1e-30
    )
    if curve is not None:
        values = curve.values[(curve.steps < step) & np.isfinite(curve.values)]
        grown = grown or (
            values.size >= 3
            and abs(float(values[-1])) > 20 * max(abs(float(np.median(values[: max(2, values.size // 3)]))), 1e-12)
        )
    return when(bool(grown), f"loss or gradient had grown more than a hundredfold before step {step}", step=step)


def domain_left_out_of_calm(run: Run) -> Finding:
    """A hazardous operation gave the first non-finite value, and neither loss nor gradient had grown before."""
    born = loss_in_hazardous_operation(run)
    if born.present is None:
        return unmeasured()
    calm = not explosion_precedes(run).present
    return when(bool(born.present) and calm, "loss and gradient were ordinary before", step=born.step, layer=born.layer)
