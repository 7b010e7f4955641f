"""Units of activation functions: at a bound, or dead."""

from __future__ import annotations

import math
from collections.abc import Set

from neuraldbg.measures.depth import early, late
from neuraldbg.measures.run import Run
from neuraldbg.records import Place

#: Activation functions with bounds, by autograd name.
BOUNDED = frozenset({"Sigmoid", "Tanh", "Hardtanh", "Hardsigmoid"})


def activation_sites(run: Run, quantity: str, operations: Set[str], stage: str) -> list[tuple[float, Place]]:
    """A share of units of every site of some activation functions.

    Args:
        quantity: ``activation.saturated_share`` or ``activation.dead_units``; 0..1.
        operations: names of the functions as the autograd graph has them, ``Relu`` for instance.
        stage: "early" (the very first observation: later ones show what the first updates did), or "late" (the last
            third).
    """
    values = early(run.trace, quantity, 1) if stage == "early" else late(run.trace, quantity)
    return [
        (values[place.name], place)
        for place in run.series(quantity).places
        if place.name in values and place.details.get("operation") in operations and math.isfinite(values[place.name])
    ]


def layer_of(place: Place, prefer_module: bool = False) -> str | None:
    """The module that feeds an activation site, else the one that it is in; the other way round if so preferred."""
    module, producer = place.details.get("module"), place.details.get("producer")
    chosen = module if prefer_module and module is not None else producer if producer is not None else module
    return str(chosen) if chosen is not None else None


def saturated_at_start(run: Run) -> set[str]:
    """Modules whose units sat at the bounds before the first update, and those right behind: no update brought that."""
    stuck = {
        name
        for share, place in activation_sites(run, "activation.saturated_share", BOUNDED, "early")
        if share > 0.5
        for name in (place.details.get("module"), place.details.get("producer"))
        if name is not None
    }
    return {str(name) for name in stuck} | {edge.target for edge in run.trace.flow if edge.source in stuck}
