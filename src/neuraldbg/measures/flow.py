"""The data flow as an order of places: what comes before what, what lies next to what."""

from __future__ import annotations

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
        graph = flow_graph(run.trace)
        names = [place.name for place in run.trace.places if place.kind == "module"]
        if not graph.number_of_nodes():
            # Without a recorded graph the order of calls has to do; places are numbered in it.
            leaves = [name for name in names if not any(other.startswith(name + ".") for other in names) and name]
            nx.add_path(graph, leaves)
        self.graph: nx.DiGraph = _without_cycles(graph)
        for name in names:
            self._attach(name)
        order = list(nx.lexicographical_topological_sort(self.graph, key=str))
        depth: dict[str, int] = {}
        for node in order:
            depth[node] = 1 + max((depth[source] for source in self.graph.predecessors(node)), default=-1)
        self._depth = depth
        self._last = max(depth.values(), default=0)

    def _attach(self, name: str) -> None:
        """A container that is no node of the flow stands behind the last of its own modules."""
        if name in self.graph or not name:
            return
        inside = [node for node in self.graph if str(node).startswith(name + ".")]
        if inside:
            ends = [node for node in inside if not any(after in inside for after in self.graph.successors(node))]
            self.graph.add_edges_from((end, name) for end in ends[:1])

    def position(self, layer: str | None) -> float:
        """0 at the input, 1 at the loss; 0.5 where the place is not known."""
        if layer is None or layer not in self._depth:
            return 1.0 if layer == "" else 0.5
        return self._depth[layer] / max(1, self._last)

    @cached_property
    def _ancestors(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for node in nx.topological_sort(self.graph):
            own: set[str] = set()
            for source in self.graph.predecessors(node):
                own |= found[source]
                own.add(source)
            found[node] = own
        return found

    def reaches(self, source: str | None, target: str | None) -> bool:
        """Whether data flows from one module's output to the other's; a module contains its own modules."""
        if source is None or target is None or source == target:
            return False
        if source in self._ancestors.get(target, ()):
            return True
        return target == "" or (source.startswith(target + ".") if target else False)

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


def _without_cycles(graph: nx.DiGraph) -> nx.DiGraph:
    if nx.is_directed_acyclic_graph(graph):
        return graph
    kept: nx.DiGraph = nx.DiGraph()
    kept.add_nodes_from(graph.nodes)
    for source, target in graph.edges:
        if not nx.has_path(kept, target, source):
            kept.add_edge(source, target)
    return kept
