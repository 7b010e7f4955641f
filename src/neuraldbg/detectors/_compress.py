"""Causal compression: many observations become few events.

In time: events of one kind at one place become one with a range of steps, when at most ``BRIDGED_ROWS`` observed steps
lie between them (steps that were not sampled are no gap). In space: one kind that shows at places next to each other in
the data flow becomes one event with its first place and the way that it took. Within one step activations come about
from the input to the loss and gradients from the loss to the input; that orders what shows in the same step.
"""

from __future__ import annotations

import itertools
import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from neuraldbg.measures.flow import Flow, flow_of
from neuraldbg.measures.moment import within_step
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import BRIDGED_ROWS
from neuraldbg.measures.subjects import LOSS, VALIDATION
from neuraldbg.records import SemanticEvent

#: Steps, and share of the run, within which a kind counts as spreading from one place to its neighbour.
SPREAD_STEPS = 10
SPREAD_SHARE = 0.02
#: Separate stretches of one kind from which they are told as one that recurs.
RECURRING = 4
#: Order of the layers that a propagation keeps; a longer one is cut in the middle.
KEPT_LAYERS = 64

IntArray = npt.NDArray[np.int64]


def compress(events: Sequence[SemanticEvent], run: Run) -> tuple[SemanticEvent, ...]:
    """Fewer events that say the same, earliest first."""
    merged = _recurring(_over_neighbours(_over_time(events, run), run))
    flow = flow_of(run)
    return tuple(sorted(merged, key=lambda event: (event.step_range[0], within_step(event, flow), event.place)))


# time ----------------------------------------------------------------------------------------------------------------


def _over_time(events: Sequence[SemanticEvent], run: Run) -> list[SemanticEvent]:
    groups: dict[tuple[Any, ...], list[SemanticEvent]] = {}
    for event in events:
        key = (
            event.event_type,
            event.to_state,
            event.layer,
            event.parameter,
            event.metadata.get("subject"),
            event.metadata.get("detector"),
        )
        groups.setdefault(key, []).append(event)
    sampled, every = _observed_steps(run)
    found = []
    for group in groups.values():
        group.sort(key=lambda event: event.step_range)
        current = group[0]
        steps = every if current.metadata.get("subject") in (LOSS, VALIDATION) else sampled
        for event in group[1:]:
            if _rows_between(steps, current.step_range[1], event.step_range[0]) <= BRIDGED_ROWS:
                current = _joined(current, event)
            else:
                found.append(current)
                current = event
        found.append(current)
    return found


def _observed_steps(run: Run) -> tuple[IntArray, IntArray]:
    """Steps that were observed in full, and steps whose loss was seen; both ascending and unique."""
    every = np.unique(run.series("loss.value").steps)
    parts = [run.series(name).steps for name in ("gradient.norm", "module.output_std", "input.batch_size")]
    sampled = np.unique(np.concatenate(parts))
    return (sampled if sampled.size else every), every


def _rows_between(steps: IntArray, first: int, second: int) -> int:
    """Observed steps strictly between two; negative where the second does not come later."""
    return int(np.searchsorted(steps, second, side="left")) - int(np.searchsorted(steps, first, side="right"))


def _joined(one: SemanticEvent, other: SemanticEvent) -> SemanticEvent:
    """Two stretches of one kind at one place: the words and numbers of the clearer one, all the steps."""
    clearer, rest = (other, one) if other.confidence > one.confidence else (one, other)
    first = min(one.step_range[0], other.step_range[0])
    last = max(one.step_range[1], other.step_range[1])
    findings = tuple(dict.fromkeys([*clearer.metadata.get("findings", ()), *rest.metadata.get("findings", ())]))
    return replace(clearer, step_range=(first, last), metadata={**clearer.metadata, "findings": findings})


def _recurring(events: list[SemanticEvent]) -> list[SemanticEvent]:
    """One kind that comes and goes is one event, with how many times; its words are those of the first time."""
    groups: dict[tuple[Any, ...], list[SemanticEvent]] = {}
    for event in events:
        groups.setdefault((event.event_type, event.to_state, event.metadata.get("detector")), []).append(event)
    found = []
    for group in groups.values():
        group.sort(key=lambda event: event.step_range)
        apart = all(one.step_range[1] < other.step_range[0] for one, other in itertools.pairwise(group))
        if len(group) < RECURRING or not apart:
            found.extend(group)
            continue
        first, clearest = group[0], max(group, key=lambda event: event.confidence)
        findings = tuple(dict.fromkeys(name for event in group for name in event.metadata.get("findings", ())))
        onsets = [event.step_range[0] for event in group]
        sentence = f"{first.metadata['sentence']} ({len(group)} times in the run)"
        metadata = {**first.metadata, "findings": findings, "sentence": sentence, "times": len(group), "onsets": onsets}
        found.append(
            replace(
                first,
                step_range=(first.step_range[0], group[-1].step_range[1]),
                confidence=clearest.confidence,
                metadata=metadata,
            )
        )
    return found


# neighbours ----------------------------------------------------------------------------------------------------------


def _over_neighbours(events: list[SemanticEvent], run: Run) -> list[SemanticEvent]:
    flow = flow_of(run)
    window = max(SPREAD_STEPS, int(SPREAD_SHARE * run.trace.steps))
    groups: dict[tuple[Any, ...], list[SemanticEvent]] = {}
    found: list[SemanticEvent] = []
    for event in events:
        if event.layer is None or event.event_type in ("wiring_fault", "data_anomaly"):
            found.append(event)
        else:
            key = (event.event_type, event.to_state, event.metadata.get("detector"))
            groups.setdefault(key, []).append(event)
    for group in groups.values():
        found.extend(_propagation(part, flow) if len(part) > 1 else part[0] for part in _touching(group, flow, window))
    return found


def _touching(events: list[SemanticEvent], flow: Flow, window: int) -> list[list[SemanticEvent]]:
    """Parts of a group whose members are neighbours in the flow and meet in time.

    A part is in the order of its joining: the event that joined last, then the parts that it joined, oldest first.
    """
    beside = _beside({event.layer or "" for event in events}, flow)
    parts: dict[int, deque[SemanticEvent]] = {}
    #: Part → the part that it became a part of.
    became: dict[int, int] = {}
    #: Layer → the events there so far, with the part that each began in.
    seen: dict[str, list[tuple[SemanticEvent, int]]] = {}
    for number, event in enumerate(sorted(events, key=lambda item: item.step_range)):
        layer = event.layer or ""
        touched = sorted(
            {
                _now(part, became)
                for near in beside[layer]
                for other, part in seen.get(near, ())
                if _meet(event, other, window)
            }
        )
        joined: deque[SemanticEvent] = deque()
        for part in touched:
            members = parts.pop(part)
            became[part] = number
            if len(members) > len(joined):
                members.extendleft(reversed(joined))
                joined = members
            else:
                joined.extend(members)
        joined.appendleft(event)
        parts[number] = joined
        seen.setdefault(layer, []).append((event, number))
    return [list(part) for part in parts.values()]


def _now(part: int, became: dict[int, int]) -> int:
    """The part that a part is in by now."""
    found = part
    while found in became:
        found = became[found]
    while part != found:
        became[part], part = found, became[part]
    return found


def _beside(layers: set[str], flow: Flow) -> dict[str, set[str]]:
    """Each layer → those that are its neighbours in the flow, or inside it, or around it, or itself."""
    found: dict[str, set[str]] = {layer: {layer} for layer in layers}
    for layer in layers:
        around = {layer[:at] for at, letter in enumerate(layer) if letter == "."}
        for other in (flow.neighbours(layer) | around) & layers:
            if other or layer:
                found[layer].add(other)
                found[other].add(layer)
    return found


def _meet(one: SemanticEvent, other: SemanticEvent, window: int) -> bool:
    """Whether two events at layers beside each other are near in time."""
    if (one.layer or "", one.parameter) == (other.layer or "", other.parameter):
        return False  # time has parted them
    apart = max(one.step_range[0], other.step_range[0]) - min(one.step_range[1], other.step_range[1])
    return apart <= window


def _propagation(part: list[SemanticEvent], flow: Flow) -> SemanticEvent:
    """One event for a kind that spreads: named after the place where it began."""
    ordered = sorted(part, key=lambda event: (event.step_range[0], within_step(event, flow), str(event.place)))
    layers = list(dict.fromkeys(event.layer or "" for event in ordered))
    origin = ordered[0]
    onsets: dict[str, int] = {}
    for event in ordered:  # by onset: the first one of a layer is its earliest
        onsets.setdefault(event.layer or "", event.step_range[0])
    direction = _direction(layers, onsets, origin.event_type, flow)
    span = max(onsets.values()) - min(onsets.values())
    findings = tuple(dict.fromkeys(name for event in ordered for name in event.metadata.get("findings", ())))
    steps = (origin.step_range[0], max(event.step_range[1] for event in ordered))
    metadata = {**origin.metadata, "findings": findings}
    if len(layers) > 1:
        metadata["sentence"] = _spread_sentence(str(origin.metadata["sentence"]), layers, direction)
        metadata["propagation"] = {
            "origin": layers[0],
            "order": layers
            if len(layers) <= KEPT_LAYERS
            else [*layers[: KEPT_LAYERS // 2], *layers[-KEPT_LAYERS // 2 :]],
            "places": len(layers),
            "direction": direction,
            "speed": span / (len(layers) - 1),
            "span": span,
        }
        metadata["gains"] = {e.layer: e.metadata["log_gain"] for e in ordered if "log_gain" in e.metadata} or None
        if metadata["gains"] is None:
            del metadata["gains"]
    confidence = max(event.confidence for event in ordered)
    parameter = origin.parameter if len({event.parameter for event in ordered}) == 1 else None
    return replace(origin, parameter=parameter, step_range=steps, confidence=confidence, metadata=metadata)


def _spread_sentence(sentence: str, layers: list[str], direction: str) -> str:
    others = len(layers) - 1
    what = f"{others} further module{'s' if others > 1 else ''}"
    last = f"'{layers[-1]}'" if layers[-1] else "the model"
    if direction == "none":
        return f"{sentence}; so it is in {what} ({last}{' …' if others > 1 else ''})"
    toward = "towards the loss" if direction == "forward" else "towards the input"
    return f"{sentence}, and {toward} in {what}, up to {last}"


def _direction(layers: list[str], onsets: dict[str, int], event_type: str, flow: Flow) -> str:
    """Which way it went: by the onsets where they differ, else by the order within a step."""
    if len(layers) < 2:
        return "none"
    positions = [flow.position(layer) for layer in layers]
    times = [float(onsets[layer]) for layer in layers]
    if len(set(times)) > 1 and len(set(positions)) > 1:
        agreement = statistics.correlation(times, positions)
        return "forward" if agreement > 0.3 else "backward" if agreement < -0.3 else "none"
    if len(set(positions)) < 2:
        return "none"
    if event_type == "activation_regime_shift":
        return "forward"
    return "backward" if event_type == "gradient_health_transition" else "none"
