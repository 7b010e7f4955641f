"""What was measured: a place, a number there at a step, a fact about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: The kinds of place that a number or a fact can belong to.
PLACE_KINDS = ("module", "parameter", "activation", "optimizer", "loss", "input", "evaluation", "run")


@dataclass(frozen=True)
class Place:
    """Where something was measured."""

    #: Number of the place inside its trace file, counted from 0.
    identifier: int
    #: One of PLACE_KINDS.
    kind: str
    #: ``named_modules()`` path of a module ("" is the root), ``named_parameters()`` path of a parameter, else a label.
    name: str
    #: Constant properties: class, shape, dtype, fan-in, source position.
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Observation:
    """One quantity at one step, over one or more places."""

    #: Dotted name, ``module.output_std`` for instance; docs/trace_format.md lists them with their units.
    quantity: str
    #: Optimizer round, counted from 0; backward count when no optimizer ever stepped.
    step: int
    #: Identifiers of the places, in the order of the values.
    places: tuple[int, ...]
    #: One number per place; NaN where the quantity itself was not a number.
    values: tuple[float, ...]


@dataclass(frozen=True)
class Fact:
    """Something that is not a number per step: a structure, a setting, a change, a first non-finite value."""

    #: Dotted name, ``loss.structure`` for instance.
    name: str
    #: Step at which it was seen.
    step: int
    #: The place it is about, or None for the run.
    place: Place | None
    #: JSON-like content.
    data: Mapping[str, Any]


@dataclass(frozen=True)
class FlowEdge:
    """Data flows in the forward from the output of one module to the output of another."""

    #: Module path whose output is read ("<input>" for the model's input).
    source: str
    #: Module path that produces its output from it ("<loss>" for the loss).
    target: str
    #: Autograd operations on the way, in forward order, without the target's own ones.
    operations: tuple[str, ...] = ()
