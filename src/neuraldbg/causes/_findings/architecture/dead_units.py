"""ReLU units that are zero on every input."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.activations import activation_sites, layer_of
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.records import Finding, Place


def _dead(run: Run, stage: str) -> list[tuple[float, Place]]:
    return activation_sites(run, "activation.dead_units", {"Relu", "Threshold"}, stage)


def units_dead_from_start(run: Run) -> Finding:
    """More than 80 % of a ReLU layer's units are zero on the whole batch in the first steps, and stay so."""
    first, last = (
        dict((p.name, (v, p)) for v, p in _dead(run, "early")),
        dict((p.name, v) for v, p in _dead(run, "late")),
    )
    if not run.series("module.output_std"):
        return unmeasured()
    hit = [(v, p) for name, (v, p) in first.items() if v > 0.8 and last.get(name, 0.0) > 0.8]
    if not hit:
        return absent()
    hit.sort(key=lambda item: (item[1].identifier,))
    value, place = max(hit, key=lambda item: item[0])
    earliest = _first_in_flow(run, [p for _, p in hit])
    place = earliest or place
    return present(
        f"{100 * dict((p.name, v) for v, p in hit)[place.name]:.0f} % of the units of '{layer_of(place)}' are zero on every input from the first steps",
        layer=layer_of(place),
        share=value,
    )


def _first_in_flow(run: Run, places: list[Place]) -> Place | None:
    """The place whose producer comes first in the order of calls."""
    order = {p.name: p.identifier for p in run.trace.places if p.kind == "module"}
    return min(places, key=lambda place: order.get(str(place.details.get("producer")), 10**9), default=None)


def units_die_later(run: Run) -> Finding:
    """More than 60 % of a ReLU layer's units end up zero on the whole batch, having begun alive."""
    first = {p.name: v for v, p in _dead(run, "early")}
    if not run.series("module.output_std"):
        return unmeasured()
    hit = []
    for value, place in _dead(run, "late"):
        steps, column = run.series("activation.dead_units").column(place.name)
        begins = float(column[0]) if column.size else first.get(place.name, 1.0)
        if value > 0.6 and begins < 0.5 * value:
            hit.append((int(steps[np.argmax(column > 0.6)]), value, place))
    if not hit:
        return absent()
    step, value, place = min(hit, key=lambda item: item[0])
    return present(
        f"{100 * value:.0f} % of the units of '{layer_of(place)}' are zero on every input since step {step}",
        layer=layer_of(place),
        step=step,
    )


def biases_start_negative(run: Run) -> Finding:
    """A hidden layer's bias starts well below zero."""
    series = run.series("parameter.initial_mean")
    if not series:
        return unmeasured()
    heads = {str(term.get("producer")) for curve in run.curves for term in curve.terms}
    low = [
        (float(series.first[i]), p.name)
        for i, p in enumerate(series.places)
        if p.name.endswith("bias") and series.first[i] < -0.5 and owner_of(p.name) not in heads
    ]
    return when(
        bool(low),
        f"'{low[0][1] if low else ''}' starts at {low[0][0] if low else 0:.2g}",
        layer=owner_of(low[0][1]) if low else None,
    )
