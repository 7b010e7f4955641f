"""Two runs side by side: where they part first, what is set differently, what happened in one only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuraldbg.measures.flow import Flow
from neuraldbg.measures.run import Run
from neuraldbg.records import Diagnosis, Place, SemanticEvent, Trace
from neuraldbg.report.text import clean, number

#: Relative difference below which two numbers count as equal; see docs/design/reports.md.
TOLERANCE = 1e-3
#: Settings that differ between any two runs.
_INCIDENTAL = frozenset(
    {"pid", "started", "finished", "sampling", "counts", "last_step", "folder", "outcome", "verdict"}
)
#: The way of numbers through one step; gradients go backwards through the layers.
_STAGES: Mapping[str, int] = {
    "input": 0,
    "target": 1,
    "module": 2,
    "activation": 2,
    "prediction": 3,
    "loss": 4,
    "gradient": 6,
    "optimizer": 7,
    "parameter": 8,
    "update": 9,
    "evaluation": 10,
}


@dataclass(frozen=True)
class Difference:
    """One quantity that differs at one place and step."""

    step: int
    quantity: str
    place: Place
    first: float
    second: float
    #: Stage of the step and position in the data flow, for sorting.
    order: tuple[int, float]

    @property
    def sentence(self) -> str:
        name = clean(self.place.name or "the model")
        words = self.quantity.replace(".", " ").replace("_", " ")
        return f"{words} of '{name}': {number(self.first)} and {number(self.second)}"


@dataclass(frozen=True)
class Comparison:
    """What distinguishes two runs."""

    #: Differences at the first step that has any, in data-flow order; empty where the runs agree.
    parted: tuple[Difference, ...]
    #: The last step that both have, and how many numbers of both were compared.
    last_common: int
    compared: int
    #: (name, value in the first, value in the second).
    settings: tuple[tuple[str, str, str], ...]
    only_first: tuple[SemanticEvent, ...]
    only_second: tuple[SemanticEvent, ...]
    notes: tuple[str, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """Plain dictionaries for JSON; numbers that are not finite are strings."""
        return {
            "parted": [
                {"step": d.step, "quantity": d.quantity, "kind": d.place.kind, "place": d.place.name,
                 "first": _plain(d.first), "second": _plain(d.second)}
                for d in self.parted[:50]
            ],
            "last_common": self.last_common,
            "compared": self.compared,
            "settings": [{"name": name, "first": first, "second": second} for name, first, second in self.settings],
            "only_first": [str(event) for event in self.only_first],
            "only_second": [str(event) for event in self.only_second],
            "notes": list(self.notes),
        }  # fmt: skip


def compare(
    first: Trace, second: Trace, diagnoses: tuple[Diagnosis, Diagnosis] | None = None, tolerance: float = TOLERANCE
) -> Comparison:
    """Compares two recorded runs, step by step and place by place, over what both observed."""
    flow = Flow(Run(first))
    found: list[Difference] = []
    compared, last_common = 0, -1
    for quantity in sorted(set(first.quantities) & set(second.quantities)):
        differences, seen, last = _differences(quantity, first, second, flow, tolerance)
        found += differences
        compared, last_common = compared + seen, max(last_common, last)
    earliest = min((difference.step for difference in found), default=0)
    parted = sorted((d for d in found if d.step == earliest), key=lambda d: (d.order, d.quantity, d.place.name))
    events = tuple(diagnosis.events for diagnosis in diagnoses) if diagnoses else ((), ())
    notes = []
    if not compared:
        notes.append("The runs have no step and place in common: there was nothing to compare.")
    one, two = ({place.name for place in trace.places if place.kind == "module"} for trace in (first, second))
    for name, own, other in (("first", one, two), ("second", two, one)):
        alone = sorted(own - other)
        if alone:
            more = f" and {len(alone) - 3} more" if len(alone) > 3 else ""
            notes.append(f"Only the {name} run has the layers {', '.join(repr(clean(n)) for n in alone[:3])}{more}.")
    return Comparison(
        tuple(parted),
        last_common,
        compared,
        tuple(_settings(first, second)),
        _without(events[0], events[1]),
        _without(events[1], events[0]),
        tuple(notes),
    )


def _differences(
    quantity: str, first: Trace, second: Trace, flow: Flow, tolerance: float
) -> tuple[list[Difference], int, int]:
    """The differences at the first step that has any; how many numbers were compared; the last common step."""
    one, other = first.series(quantity), second.series(quantity)
    columns = {(place.kind, place.name): index for index, place in enumerate(other.places)}
    pairs = [(i, columns[p.kind, p.name]) for i, p in enumerate(one.places) if (p.kind, p.name) in columns]
    steps, rows, others = np.intersect1d(one.steps, other.steps, return_indices=True)
    if not pairs or not steps.size:
        return [], 0, -1
    table = np.array(pairs)
    own = one.values[rows][:, table[:, 0]]
    their = other.values[others][:, table[:, 1]]
    known = ~(np.isnan(own) | np.isnan(their))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(own - their) > tolerance * np.maximum(np.abs(own), np.abs(their)) + 1e-12
    apart = np.where(np.isfinite(own) & np.isfinite(their), apart, own != their) & known
    hit = np.flatnonzero(apart.any(axis=1))
    found = []
    for column in np.flatnonzero(apart[hit[0]]).tolist() if hit.size else ():
        place = one.places[pairs[column][0]]
        row = int(hit[0])
        found.append(
            Difference(
                int(steps[row]), quantity, place, float(own[row, column]), float(their[row, column]),
                _order(quantity, place, flow),
            )
        )  # fmt: skip
    return found, int(known.sum()), int(steps[-1])


def _order(quantity: str, place: Place, flow: Flow) -> tuple[int, float]:
    family = quantity.partition(".")[0]
    layer = place.name if place.kind == "module" else str(place.details.get("module") or place.name.rpartition(".")[0])
    position = flow.position(layer) if place.kind in ("module", "activation", "parameter") else 0.0
    if "gradient" in quantity and family in ("module", "parameter"):
        return 5, 1.0 - position
    return _STAGES.get(family, 5), position


def _settings(first: Trace, second: Trace) -> list[tuple[str, str, str]]:
    own, their = _flat(first), _flat(second)
    return [
        (clean(name), clean(own.get(name, "–")), clean(their.get(name, "–")))
        for name in sorted(own.keys() | their.keys())
        if own.get(name) != their.get(name)
    ]


def _flat(trace: Trace) -> dict[str, str]:
    found = {name: str(value) for name, value in trace.meta.items() if name not in _INCIDENTAL}
    found["steps"] = str(trace.steps)
    for fact in trace.facts("optimizer.settings"):
        name = fact.place.name if fact.place is not None else "optimizer"
        found.setdefault(f"optimizer {name}", str(fact.data.get("class", "")))
        for position, group in enumerate(fact.data.get("groups", ())):
            for key, value in group.items():
                found.setdefault(f"optimizer {name}, group {position}, {key}", str(value))
    for position, fact in enumerate(trace.facts("loss.structure")[:4]):
        for term in fact.data.get("terms", ()):
            for key in ("kind", "reduction", "class_count"):
                found.setdefault(f"loss {position}, {key}", str(term.get(key)))
    return found


def _without(events: tuple[SemanticEvent, ...], others: tuple[SemanticEvent, ...]) -> tuple[SemanticEvent, ...]:
    """Events of whose kind, place and state the other run has none."""
    known = {(event.event_type, event.place, event.to_state) for event in others}
    return tuple(event for event in events if (event.event_type, event.place, event.to_state) not in known)


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)
