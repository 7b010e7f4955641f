"""Events and the data flow of the model become a graph: an edge for each reason why one event accounts for another.

Time runs forward: what begins later, or in the same step further down the way that data and gradients take, is
never the reason of what was there before. That makes the graph free of cycles whatever the reasons say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import networkx as nx

from neuraldbg.measures.flow import flow_of
from neuraldbg.measures.moment import within_step
from neuraldbg.measures.run import Run
from neuraldbg.records import CausalLink, CoupledFailure, Diagnosis, SemanticEvent
from neuraldbg.registry import find_rules

#: Links that one reason may draw to one event: the strongest ones; more say no more.
KEPT_PER_REASON = 4
#: Reason → the way that the influence took, as a coupled failure names it.
DIRECTIONS: Mapping[str, str] = {
    "forward_flow": "forward",
    "backward_flow": "backward",
    "loss": "forward",
    "data": "data",
    "learning_rate": "update",
    "update": "update",
    "wiring": "forward",
    "number_format": "forward",
}


@dataclass(frozen=True)
class CausalGraph:
    """Events, the links between them, and both as a directed acyclic graph."""

    #: Earliest first.
    events: tuple[SemanticEvent, ...]
    #: Sorted by source, target, reason; the indices are positions in ``events``.
    links: tuple[CausalLink, ...]
    #: Nodes are positions in ``events``; an edge keeps ``reason``, ``lag`` and ``strength`` of its strongest link.
    graph: nx.DiGraph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CausalGraph) and (self.events, self.links) == (other.events, other.links)

    def __hash__(self) -> int:
        return hash((len(self.events), self.links))


@cache
def reasons() -> Mapping[str, ModuleType]:
    """Every kind of reason by name."""
    return find_rules("neuraldbg.graph.links", {"links": Callable})  # type: ignore[dict-item]


def build_graph(events: Sequence[SemanticEvent], run: Run) -> CausalGraph:
    """The causal graph of a run. A reason that fails draws no links; the others still do."""
    return graph_of(events, run)[0]


def graph_of(events: Sequence[SemanticEvent], run: Run) -> tuple[CausalGraph, tuple[str, ...]]:
    """As ``build_graph``, with one line for each kind of reason that failed."""
    kept, notes, flow = [], [], flow_of(run)
    # A source begins before its target: in an earlier step, or earlier on the way through one step.
    moments = [(event.step_range[0], within_step(event, flow)) for event in events]
    for name, rule in reasons().items():
        try:
            found = [link for link in rule.links(events, run) if moments[link.source] < moments[link.target]]
        except Exception as error:
            notes.append(f"link {name} failed: {type(error).__name__}: {error}")
            continue
        by_target: dict[int, list[CausalLink]] = {}
        for link in found:
            by_target.setdefault(link.target, []).append(link)
        for group in by_target.values():
            group.sort(key=lambda link: (-link.strength, link.lag, link.source))
            kept.extend(group[:KEPT_PER_REASON])
    links = tuple(sorted(set(kept), key=lambda link: (link.source, link.target, link.reason)))
    return CausalGraph(tuple(events), links, _network(len(events), links)), tuple(notes)


def _network(count: int, links: Iterable[CausalLink]) -> nx.DiGraph:
    network: nx.DiGraph = nx.DiGraph()
    network.add_nodes_from(range(count))
    for link in links:
        known = network.get_edge_data(link.source, link.target)
        if known is None or known["strength"] < link.strength:
            network.add_edge(link.source, link.target, reason=link.reason, lag=link.lag, strength=link.strength)
    return network


def coupled_failures(diagnosis: Diagnosis) -> tuple[CoupledFailure, ...]:
    """Pairs of events that a link joins, strongest first, with the way that the influence took."""
    found = [
        CoupledFailure(
            diagnosis.events[link.source],
            diagnosis.events[link.target],
            DIRECTIONS.get(link.reason, "forward"),
            link.lag,
            link.strength,
        )
        for link in diagnosis.links
    ]
    return tuple(sorted(found, key=lambda pair: (-pair.strength, pair.source.step_range, pair.target.step_range)))
