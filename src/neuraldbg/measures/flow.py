"""The data flow as an order of places: what comes before what, what lies next to what."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from weakref import WeakKeyDictionary

import networkx as nx

from neuraldbg.measures.depth import flow_graph
from neuraldbg.measures.run import Run

#: Flow edges between two places that still count as neighbours: an activation and a norm may lie between two layers.
NEIGHBOUR_HOPS = 3


class Flow:
    """The modules of a run in the order in which data passes them. Cycles of modules called again and again are cut."""

    def __init__(self, run: Run) -> None:
        graph = flow_graph(run.trace).copy()
        names = [place.name for place in run.trace.places if place.kind == "module"]
        if not graph.number_of_nodes():
            # Without a recorded graph the order of calls has to do; places are numbered in it.
            containers = {container for name in names for container in _containers(name)}
            leaves = [name for name in names if name and name not in containers]
            nx.add_path(graph, leaves)
        self.graph: nx.DiGraph = _without_cycles(graph)
        self._attach(names)
        order = list(nx.lexicographical_topological_sort(self.graph, key=str))
        depth: dict[str, int] = {}
        for node in order:
            depth[node] = 1 + max((depth[source] for source in self.graph.predecessors(node)), default=-1)
        self._depth = depth
        self._last = max(depth.values(), default=0)

    def _attach(self, names: list[str]) -> None:
        """A container that is no node of the flow stands behind the last of its own modules."""
        inside: dict[str, list[str]] = {}
        for node in self.graph:
            for container in _containers(str(node)):
                inside.setdefault(container, []).append(node)
        for name in names:
            if name in self.graph or not name or name not in inside:
                continue
            own = set(inside[name])
            for end in inside[name]:
                if own.isdisjoint(self.graph.successors(end)):
                    self.graph.add_edge(end, name)
                    for container in _containers(name):
                        inside.setdefault(container, []).append(name)
                    break

    def position(self, layer: str | None) -> float:
        """0 at the input, 1 at the loss; 0.5 where the place is not known."""
        if layer is None or layer not in self._depth:
            return 1.0 if layer == "" else 0.5
        return self._depth[layer] / max(1, self._last)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {node: number for number, node in enumerate(nx.topological_sort(self.graph))}

    @cached_property
    def _ancestors(self) -> dict[str, bytes]:
        """For each node one bit per node, by number: whether data flows from that one to it."""
        # Sets would take gigabytes where ten thousand modules follow each other.
        bits: dict[str, int] = {}
        for node in self._number:
            own = 0
            for source in self.graph.predecessors(node):
                own |= bits[source] | 1 << self._number[source]
            bits[node] = own
        return {node: own.to_bytes(len(bits) // 8 + 1, "little") for node, own in bits.items()}

    def reaches(self, source: str | None, target: str | None) -> bool:
        """Whether data flows from one module's output to the other's; a module contains its own modules."""
        return source is not None and self.reached_from((source,), target)

    def reached_from(self, sources: Iterable[str], target: str | None) -> bool:
        """Whether one of several modules ``reaches`` the target."""
        if target is None:
            return False
        ancestors, numbers, inside = self._ancestors.get(target), self._number, target + "."
        for source in sources:
            if source == target:
                continue
            if target == "" or source.startswith(inside):
                return True
            number = numbers.get(source)
            if ancestors is not None and number is not None and ancestors[number >> 3] >> (number & 7) & 1:
                return True
        return False

    def neighbours(self, layer: str, hops: int = NEIGHBOUR_HOPS) -> set[str]:
        """Modules within ``hops`` edges up or down, and the layer itself."""
        near = {layer}
        for step in (self.graph.successors, self.graph.predecessors):
            front = {layer} if layer in self.graph else set()
            for _ in range(hops):
                front = {after for node in front for after in step(node)} - {"<loss>"}
                near |= front
        return near


_FLOWS: WeakKeyDictionary[Run, Flow] = WeakKeyDictionary()


def flow_of(run: Run) -> Flow:
    """The flow of a run, worked out once."""
    found = _FLOWS.get(run)
    if found is None:
        found = _FLOWS[run] = Flow(run)
    return found


def _containers(name: str) -> list[str]:
    """``a`` and ``a.b`` for ``a.b.c``."""
    return [name[:at] for at, letter in enumerate(name) if letter == "."]


def _without_cycles(graph: nx.DiGraph) -> nx.DiGraph:
    if nx.is_directed_acyclic_graph(graph):
        return graph
    kept: nx.DiGraph = nx.DiGraph()
    kept.add_nodes_from(graph.nodes)
    for source, target in graph.edges:
        if not nx.has_path(kept, target, source):
            kept.add_edge(source, target)
    return kept
