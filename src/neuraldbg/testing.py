"""Builders for people who write rules: a trace, an observation, an event, a data flow, from a few plain words.

run = Run(trace({"activation.dead_units": {"fc1:Relu": [0.1, 0.9, 0.9, 0.9]}},
                places={"fc1:Relu": {"operation": "Relu", "producer": "fc1"}},
                flow="fc1 -Relu-> fc2 -> <loss>"))
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neuraldbg.records import PLACE_KINDS, STATES, Fact, FlowEdge, Observation, Place, SemanticEvent, Trace

#: First word of a quantity → kind of the places that it belongs to, with the quantities that differ.
KINDS: Mapping[str, str] = {
    "module": "module",
    "parameter": "parameter",
    "activation": "activation",
    "domain": "activation",
    "loss": "loss",
    "prediction": "loss",
    "target": "loss",
    "input": "input",
    "evaluation": "evaluation",
    "evaluation.training": "module",
    "evaluation.output_std": "module",
    "optimizer": "optimizer",
    "gradient": "run",
    "update": "run",
    "scaler": "run",
}

#: Values of one place: one per step from 0 on (None where it was not observed), or step → value.
Values = Sequence[float | None] | Mapping[int, float]


def trace(
    quantities: Mapping[str, Mapping[str, Values]] | None = None,
    *,
    places: Mapping[str, Mapping[str, Any]] | None = None,
    facts: Iterable[tuple[Any, ...]] = (),
    flow: str | Sequence[FlowEdge] = (),
    steps: int | None = None,
    optimizer_steps: int | None = None,
    backwards: int | None = None,
    **meta: Any,
) -> Trace:
    """A trace of a run that never happened.

    Args:
        quantities: quantity → place → values. The kind of a place follows from the quantity; "evaluation/[0]" names a
            place of another kind.
        places: place → details; ``kind_of_place`` among them where no quantity names the place. Modules are numbered
            in this order, which stands for the order of their calls.
        facts: (name, step, data), with the (kind, name) of a place as a fourth entry where it belongs to one.
        flow: as ``graph`` takes it.
        steps: number of steps; one more than the last one observed if not given.
        optimizer_steps, backwards: counts of the run; ``steps`` if not given.
        meta: further settings.
    """
    details = {name: dict(values) for name, values in (places or {}).items()}
    made: dict[tuple[str, str], Place] = {}

    def place(kind: str, name: str) -> Place:
        if (kind, name) not in made:
            own = {key: value for key, value in details.get(name, {}).items() if key != "kind_of_place"}
            made[(kind, name)] = Place(len(made), kind, name, own)
        return made[(kind, name)]

    for name, own_details in details.items():
        if "kind_of_place" in own_details:
            place(str(own_details["kind_of_place"]), name)
    observations = []
    for quantity, by_place in (quantities or {}).items():
        rows: dict[int, list[tuple[int, float]]] = {}
        for label, values in by_place.items():
            other, _, rest = label.partition("/")
            kind, name = (other, rest) if rest and other in PLACE_KINDS else (kind_of(quantity), label)
            pairs = values.items() if isinstance(values, Mapping) else enumerate(values)
            where = place(kind, name).identifier
            for step, value in pairs:
                if value is not None:
                    rows.setdefault(int(step), []).append((where, float(value)))
        for step, row in rows.items():
            observations.append(Observation(quantity, step, tuple(p for p, _ in row), tuple(v for _, v in row)))
    found = [Fact(fact[0], fact[1], place(*fact[3]) if len(fact) > 3 else None, fact[2]) for fact in facts]
    edges = graph(flow) if isinstance(flow, str) else tuple(flow)
    if edges:
        parts = [[edge.source, edge.target, list(edge.operations)] for edge in edges]
        found.append(Fact("model.flow", 0, None, {"edges": parts, "complete": True, "stream": "loss"}))
    last = max((observation.step for observation in observations), default=-1)
    count = last + 1 if steps is None else steps
    counts = {
        "optimizer_steps": count if optimizer_steps is None else optimizer_steps,
        "backwards": count if backwards is None else backwards,
        "skipped_steps": 0,
    }
    settings = {"last_step": count - 1, **meta, "counts": {**counts, **meta.get("counts", {})}}
    observations.sort(key=lambda observation: observation.step)
    return Trace(made.values(), observations, found, settings)


def kind_of(quantity: str) -> str:
    """The kind of the places of a quantity."""
    return KINDS.get(quantity, KINDS.get(quantity.partition(".")[0], "run"))


def observation(quantity: str, step: int = 0, *values: float, places: Sequence[int] = ()) -> Observation:
    """One observation; places are numbered from 0 if not given."""
    numbers = values or (math.nan,)
    return Observation(quantity, step, tuple(places) or tuple(range(len(numbers))), tuple(map(float, numbers)))


def event(
    event_type: str,
    state: str,
    layer: str | None = None,
    steps: tuple[int, int] | int = 0,
    *,
    parameter: str | None = None,
    confidence: float = 0.9,
    **metadata: Any,
) -> SemanticEvent:
    """An event with a sentence of its own.

    Raises:
        ValueError: a state that the type does not have.
    """
    if state not in STATES[event_type]:
        raise ValueError(f"{event_type} expects one of {', '.join(STATES[event_type])}; found {state!r}")
    first, last = (steps, steps) if isinstance(steps, int) else steps
    place = parameter or layer or metadata.get("subject", "the run")
    words = {"sentence": f"{place} goes to {state}", "findings": (), "detector": "test", **metadata}
    return SemanticEvent(event_type, layer, parameter, STATES[event_type][0], state, (first, last), confidence, words)


def graph(text: str) -> tuple[FlowEdge, ...]:
    """A data flow from words: ``"a -> b -Relu-> c; a -> c -> <loss>"``; operations stand in the arrow, with commas.

    Raises:
        ValueError: a part without an arrow.
    """
    found = []
    for part in filter(None, (piece.strip() for piece in re.split(r"[;\n]", text))):
        pieces = re.split(r"\s+-(?:([\w,]+)-)?>\s+", part)
        if len(pieces) < 3:
            raise ValueError(
                f"graph expects 'a -> b' or 'a -Relu-> b', found {part!r}; write an arrow between two names"
            )
        names, operations = pieces[::2], pieces[1::2]
        for source, target, between in zip(names, names[1:], operations):
            found.append(FlowEdge(source, target, tuple((between or "").split(",")) if between else ()))
    return tuple(found)
