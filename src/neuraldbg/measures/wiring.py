"""Which parameters are reached, held and trained, and which modules run: from facts, not from numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from neuraldbg.measures.run import Run, owner_of
from neuraldbg.records import Place

#: Backward passes before an absent gradient says anything.
_FEW_BACKWARDS = 3


def common_owner(parameters: Iterable[str]) -> str:
    """The deepest module path that holds all the parameters."""
    owners = [owner_of(name).split(".") if owner_of(name) else [] for name in parameters]
    shared: list[str] = []
    for parts in zip(*owners):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return ".".join(shared)


def place_of(run: Run, parameters: Iterable[str]) -> str:
    """Where some parameters sit: the deepest module that holds them all, or its first part that holds none but them.

    "" would say that the whole model is meant where a part of it is.
    """
    names = set(parameters)
    shared = common_owner(names)
    inside = [
        name for name in run.membership if not shared or owner_of(name) == shared or name.startswith(shared + ".")
    ]
    if set(inside) <= names:
        return shared
    first = next((name for name in run.membership if name in names), None)
    depth = len(shared.split(".")) if shared else 0
    return ".".join(owner_of(first).split(".")[: depth + 1]) if first is not None else shared


def share_of_elements(run: Run, parameters: Iterable[str], among: Iterable[str] | None = None) -> float:
    """Share of the elements of ``among`` (all parameters if not given) that the parameters hold; 0..1."""
    whole = sum(run.elements.get(name, 0) for name in (run.membership if among is None else among))
    return sum(run.elements.get(name, 0) for name in parameters) / max(1, whole)


def parameters_without_gradient(run: Run) -> list[str]:
    """Parameters with requires_grad that never had a gradient, though backward passes came."""
    if not run.membership or run.backwards < _FEW_BACKWARDS:
        return []
    return [name for name, row in run.membership.items() if row[0] and not run.had_gradient.get(name)]


def parameters_outside_optimizers(run: Run) -> list[str]:
    """Parameters with gradients that no stepping optimizer holds."""
    if not run.membership or run.optimizer_steps == 0:
        return []
    norms = run.series("parameter.gradient_norm")
    moving = {name for name, value in zip(norms.names, norms.largest.tolist()) if value > 0}
    return [
        name
        for name, (trains, held, _) in run.membership.items()
        if trains and not held and (run.had_gradient.get(name) or name in moving)
    ]


def called_modules(run: Run) -> set[str]:
    """Modules whose forward ran with gradients."""
    return {*run.series("module.output_std").names, *run.series("module.output_requires_grad").names}


def last_called(run: Run, names: Iterable[str]) -> str | None:
    """The module whose forward ended last: places are numbered in that order."""
    order = {place.name: place.identifier for place in run.trace.places if place.kind == "module"}
    return max(names, key=lambda name: order.get(name, -1), default=None)


def cut_outputs(run: Run, lost: Iterable[str]) -> list[str]:
    """Called modules that hold some of the lost parameters and whose output carries no graph."""
    lost = list(lost)
    flags = run.series("module.output_requires_grad")
    return [
        name
        for index, name in enumerate(flags.names)
        if flags.first[index] == 0 and any(owner_of(n) == name or n.startswith(name + ".") for n in lost)
    ]


def modes(run: Run) -> list[tuple[Place, float, int | None]]:
    """(module, share of steps in train mode after the first third, first step in eval mode) of modules with a mode."""
    series = run.series("module.training")
    found = []
    for index, place in enumerate(series.places):
        column = series.values[:, index]
        seen = ~np.isnan(column)
        values = column[seen]
        if values.size:
            off = np.flatnonzero(values < 0.5)
            first = int(series.steps[seen][off[0]]) if off.size else None
            found.append((place, float(np.mean(values[values.size // 3 :])), first))
    return found


def terms_of(run: Run) -> list[tuple[str, Mapping[str, Any]]]:
    """(stream, term) of every loss."""
    return [(curve.place.name, term) for curve in run.curves for term in curve.terms]


def source_of(run: Run, stream: str) -> str | None:
    """file:line of the user's backward of a stream."""
    place = run.trace.place("loss", stream)
    return str(place.details["source"]) if place is not None and place.details.get("source") else None


def output_layers(run: Run) -> set[str]:
    """Modules that make a prediction which a loss reads."""
    found = {edge.source for edge in run.trace.flow if edge.target == "<loss>"}
    for _, term in terms_of(run):
        if term.get("producer") is not None:
            found.update([str(term["producer"]), *map(str, term.get("producers") or [])])
    return found
