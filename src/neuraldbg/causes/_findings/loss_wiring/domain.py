"""Operations of the loss at the edge of their domain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.causes._findings.architecture.depth import signal_explodes_over_depth
from neuraldbg.causes._findings.architecture.initial_weights import initial_weights_large
from neuraldbg.causes._findings.update.weight_norms import weights_grow
from neuraldbg.measures.run import Run
from neuraldbg.measures.wiring import source_of
from neuraldbg.records import Finding

_HAZARDOUS = frozenset(
    {
        "Log", "Log2", "Log10", "Log1P", "Sqrt", "Rsqrt", "Reciprocal", "Div", "Exp", "Expm1", "Acos", "Asin", "Atanh", "Pow",
        "Std", "Var", "LinalgVectorNorm", "Norm", "Softmax", "Cosh", "Sinh", "Logsumexp", "Tan", "Digamma", "Lgamma",
        "Mean",
    }
)  # fmt: skip
#: Those with no edge but the largest number: a weight that grows without bound takes any of them there.
_OVERFLOWING = frozenset(
    {"Exp", "Expm1", "Pow", "Cosh", "Sinh", "Std", "Var", "LinalgVectorNorm", "Norm", "Softmax", "Logsumexp"}
)
#: A step that moves the weights by more than this share of their norm leaves nothing of what they were.
_CARRIED_AWAY = 0.5


def carried_away(run: Run, step: int) -> bool:
    """Whether the signal over depth, loss, gradient or weights had left all proportion when the first value overflowed.

    Weights far too large from the start leave nothing in proportion either.
    """
    causes = (explosion_precedes, signal_explodes_over_depth, weights_grow, initial_weights_large)
    if any(question(run).present for question in causes):
        return True
    steps, ratio = run.of_optimizer("update.ratio")
    near = ratio[(steps < step) & (steps >= step - 3)]
    return bool(near.size) and not float(np.nanmax(near)) < _CARRIED_AWAY


def loss_in_hazardous_operation(run: Run) -> Finding:
    """The first non-finite value was born in a log, root, division, power, exponential or inverse function.

    An overflow at the end of an explosion is what the explosion came to, not where it came from.
    """
    facts = run.trace.facts("nonfinite.loss")
    producer = facts[0].data.get("producer") if facts else None
    if producer and producer.get("kind") == "operation" and not facts[0].data.get("bad_parameters"):
        name = producer["operation"]
        in_half = producer.get("dtype") == "float16"
        if name in _HAZARDOUS and not (name in _OVERFLOWING and (in_half or carried_away(run, facts[0].step))):
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
                source=source_of(run, run.curves[0].place.name) if run.curves else None,
            )
    return absent() if run.curves else unmeasured()


def domain_edge_at_trouble(run: Run) -> Finding:
    """At the step of trouble the argument of a root, norm, log, division or inverse function sat at the domain's edge."""
    step = run.non_finite_step
    if step is None:
        return absent()
    edges: list[tuple[str, Callable[[float], bool]]] = [("domain.margin", lambda v: v <= 1e-12)]
    if not carried_away(run, step):
        edges.append(("domain.largest", lambda v: not v < 1e30))
    for quantity, bad in edges:
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
    troubles = [f.step for f in (*run.trace.facts("nonfinite.loss"), *run.trace.facts("nonfinite.gradient"))]
    last = min(troubles, default=run.trace.last_step)
    if troubles and carried_away(run, last):
        return absent()
    for index, place in enumerate(series.places):
        if place.details.get("operation") not in ("Exp", "Expm1", "Cosh", "Sinh"):
            continue
        # What comes after the first value that is not finite is its echo.
        column = series.values[series.steps <= last, index]
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
    step = run.non_finite_step
    if step is None:
        return absent()
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
