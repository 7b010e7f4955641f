"""The way from the root to what the user sees, in a few lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import networkx as nx

from neuraldbg.graph.build import CausalGraph
from neuraldbg.measures.subjects import LOSS, VALIDATION
from neuraldbg.records import SemanticEvent

#: Lines of a chain, the symptom among them.
LINES = 6
#: Strength at which a link neither adds to a chain nor takes from it; what a seed adds; what a repeated kind takes.
WEAK, SEED, SAME = 0.4, 0.3, 0.4


def chain(graph: CausalGraph, seeds: Iterable[SemanticEvent | int], symptom_sentence: str) -> tuple[str, ...]:
    """root → … → symptom: one line per kind of event, each with its step; the symptom last.

    Args:
        seeds: events (or their positions in ``graph.events``) that a hypothesis rests on.
        symptom_sentence: what the user sees, which ends the chain.

    Returns:
        At most ``LINES`` lines; never empty when there are seeds. Without seeds the symptom alone, or nothing.
    """
    known = _positions(graph, seeds)
    symptom = symptom_sentence.strip().rstrip(".")
    if not known:
        return (symptom,) if symptom else ()
    start = _start(graph, known)
    path = _path(graph, start, known)
    lines: list[str] = []
    kinds: set[tuple[str, str, str]] = set()
    for index in path:
        event = graph.events[index]
        if _kind(event) not in kinds:
            kinds.add(_kind(event))
            lines.append(line_of(event))
    room = LINES - bool(symptom)
    if len(lines) > room:
        # The root and what comes right before the symptom say most.
        lines = [*lines[: room - 2], *lines[-2:]]
    if symptom and symptom not in lines:
        if len(lines) > 1 and _repeats(graph.events[path[-1]], symptom):
            lines = lines[:-1]
        lines.append(symptom)
    return tuple(lines)


def line_of(event: SemanticEvent) -> str:
    """One line: what happened, and since which step."""
    sentence = str(event.metadata.get("sentence") or f"{event.place} goes to {event.to_state}").rstrip(".")
    return f"{sentence}, step {event.step_range[0]}"


def _positions(graph: CausalGraph, seeds: Iterable[SemanticEvent | int]) -> list[int]:
    found = []
    for seed in seeds:
        if isinstance(seed, int):
            if 0 <= seed < len(graph.events):
                found.append(seed)
            continue
        found.extend(index for index, event in enumerate(graph.events) if event is seed or event == seed)
    return sorted(set(found))


def _start(graph: CausalGraph, seeds: Sequence[int]) -> int:
    """The seed that no other seed leads to; of several the one that leads to most of the others, then the earliest."""
    chosen = set(seeds)
    ancestors = {seed: nx.ancestors(graph.graph, seed) & chosen for seed in seeds}
    heads = [seed for seed in seeds if not ancestors[seed]]
    return max(heads, key=lambda seed: (len(nx.descendants(graph.graph, seed) & chosen), -seed))


def _path(graph: CausalGraph, start: int, seeds: Sequence[int]) -> list[int]:
    """From the root to an event that the user sees, over links that tell the most.

    The longest path, where a link counts by its strength beyond ``WEAK`` and a seed on the way counts more: a chain
    should tell the way and not skip it, but it should not wander over weak links either. At most ``LINES`` events.
    """
    network, chosen = graph.graph, set(seeds)
    below = nx.descendants(network, start) | {start}
    ends = {node for node in below - {start} if seen_by_user(graph.events[node])}
    ends = ends or {node for node in below - {start} if not any(True for _ in network.successors(node))}
    if not ends:
        return [start, *(seed for seed in seeds if seed != start)][:LINES]
    best: dict[tuple[int, int], tuple[float, list[int]]] = {(start, 1): (0.0, [start])}
    for node in nx.lexicographical_topological_sort(network.subgraph(below)):
        for length in range(1, LINES):
            if (node, length) not in best:
                continue
            worth, path = best[(node, length)]
            kinds = {_kind(graph.events[step]) for step in path}
            for after in network.successors(node):
                gain = network.edges[node, after]["strength"] - WEAK + SEED * (after in chosen)
                gain -= SAME * (_kind(graph.events[after]) in kinds)
                if worth + gain > best.get((after, length + 1), (-math.inf, []))[0]:
                    best[(after, length + 1)] = (worth + gain, [*path, after])
    found = [(_severity(graph.events[node]), worth, path) for (node, _), (worth, path) in best.items() if node in ends]
    return max(found, key=lambda item: (item[0], item[1]))[2]


#: State of the loss → words of a symptom that say the same.
_SAME_WORDS = {
    "non_finite": ("nan", "infinite"),
    "diverging": ("rose", "left", "rises"),
    "not_learning": ("stays at", "constant guess", "learns too little"),
    "plateau": ("stays at", "constant guess", "learns too little"),
}


def _repeats(event: SemanticEvent, symptom: str) -> bool:
    words = _SAME_WORDS.get(event.to_state, ()) if seen_by_user(event) else ()
    return any(word in symptom.lower() for word in words)


def _severity(event: SemanticEvent) -> int:
    """How near an event is to what the user sees: a loss that is not finite before one that jumps."""
    if not seen_by_user(event):
        return 0
    return {"non_finite": 3, "diverging": 2, "not_learning": 2, "plateau": 2}.get(event.to_state, 1)


def seen_by_user(event: SemanticEvent) -> bool:
    """Whether an event is about a loss: the last thing before the symptom, or the symptom itself."""
    about = event.metadata.get("subject")
    return event.event_type == "optimizer_instability" and about in (LOSS, VALIDATION)


def _kind(event: SemanticEvent) -> tuple[str, str, str]:
    subject = "" if event.layer is not None else str(event.metadata.get("subject", ""))
    return event.event_type, event.to_state, subject
