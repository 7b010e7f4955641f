"""The chain of modules from input to loss, and what each does to the signal and to the gradient.

Log-gain of a module: log10 of the gradient norm at its input over that at its output. Along a chain the log-gains sum
to
the whole vanishing or explosion, so that each module's share of it is exact. Where a module's input feeds several
modules, the gradient at that input is the sum over the branches, and the edge carries the part that its own branch can
account for at most.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import networkx as nx
import numpy as np

from neuraldbg.records import Series, Trace


@dataclass(frozen=True)
class Link:
    """One step of the chain, from a module's output to the output that it reads."""

    #: Module whose output is nearer the loss.
    module: str
    #: Module whose output it reads.
    reads: str
    #: log10(gradient norm at ``reads`` / gradient norm at ``module``).
    log_gain: float
    #: Operations between the two outputs.
    operations: tuple[str, ...]


@dataclass(frozen=True)
class Chain:
    """The longest path of the data flow, first module first."""

    modules: tuple[str, ...]
    #: Gradient norm at each module's output, early in the run; shape (modules,).
    gradients: tuple[float, ...]
    #: Spread of each module's output, early in the run; shape (modules,).
    spreads: tuple[float, ...]
    links: tuple[Link, ...]

    @property
    def log_gradient_ratio(self) -> float:
        """log10(gradient at the first module / gradient at the last one); 0 when it is not known."""
        known = [g for g in self.gradients if g > 0 and math.isfinite(g)]
        if len(known) < 2:
            return 0.0
        first, last = self.gradients[0], self.gradients[-1]
        if not (last > 0 and math.isfinite(last)):
            return 0.0
        if first == 0:
            return -30.0
        return math.log10(first / last) if math.isfinite(first) else 30.0

    @property
    def log_spread_ratio(self) -> float:
        """log10(spread of the last output / spread of the first one)."""
        known = [s for s in self.spreads if s > 0 and math.isfinite(s)]
        if len(known) < 2:
            return 0.0
        return math.log10(known[-1] / known[0])

    @property
    def largest_share(self) -> tuple[float, Link | None]:
        """The largest share that one link has in the gradient's loss, and the link."""
        losses = [(-link.log_gain, link) for link in self.links if link.log_gain < 0]
        total = sum(size for size, _ in losses)
        if not losses or total <= 0:
            return 0.0, None
        size, link = max(losses, key=lambda item: item[0])
        return size / total, link

    def shares(self) -> dict[str, float]:
        """Log-gain by module: they sum to the whole."""
        found: dict[str, float] = {}
        for link in self.links:
            found[link.module] = found.get(link.module, 0.0) + link.log_gain
        return found


_GRAPHS: WeakKeyDictionary[Trace, nx.DiGraph] = WeakKeyDictionary()


def flow_graph(trace: Trace) -> nx.DiGraph:
    """Modules as nodes, an edge from each output to the outputs computed from it; over all recorded flows.

    Made once per trace, and frozen: whoever changes it takes a copy.
    """
    known = _GRAPHS.get(trace)
    if known is not None:
        return known
    graph: nx.DiGraph = nx.DiGraph()
    for fact in trace.facts("model.flow"):
        for source, target, operations in fact.data["edges"]:
            if source != target and not graph.has_edge(source, target):
                graph.add_edge(source, target, operations=tuple(operations))
    _GRAPHS[trace] = nx.freeze(graph)
    return graph


def early(trace: Trace, quantity: str, rows: int = 5) -> dict[str, float]:
    """Median of the first observed rows, by place name."""
    return _medians(trace.series(quantity), lambda count: slice(0, rows))


def late(trace: Trace, quantity: str) -> dict[str, float]:
    """Median of the last third of the observed rows, by place name."""
    return _medians(trace.series(quantity), lambda count: slice(count - max(1, count // 3), count))


def _medians(series: Series, chosen: Callable[[int], slice]) -> dict[str, float]:
    """Median of a part of each place's observed rows; ``chosen`` gives the part for a number of rows."""
    if not series:
        return {}
    # Most places are observed in every row, and thousands of columns are quicker together than one by one.
    whole = np.logical_not(np.any(np.isnan(series.values), axis=0)).tolist()
    together = np.median(series.values[chosen(len(series.values))], axis=0)
    found: dict[str, float] = {}
    for index, name in enumerate(series.names):
        if whole[index]:
            found[name] = float(together[index])
            continue
        column = series.values[:, index]
        column = column[~np.isnan(column)]
        if column.size:
            found[name] = float(np.median(column[chosen(column.size)]))
    return found


def main_chain(trace: Trace, stage: str = "early") -> Chain | None:
    """The longest path from the first module to the loss; None without a recorded flow.

    ``stage`` chooses the rows whose median the numbers are: "first" (the first one, before any update), "early" (the
    first five) or "late" (the last third).
    """
    graph = flow_graph(trace)
    if graph.number_of_nodes() < 2:
        return None
    if not nx.is_directed_acyclic_graph(graph):
        # A module that is called again and again reads its own output; its loops are dropped for the longest path.
        condensed = nx.DiGraph()
        condensed.add_nodes_from(graph.nodes)
        for source, target, data in graph.edges(data=True):
            if not (condensed.has_node(target) and nx.has_path(condensed, target, source)):
                condensed.add_edge(source, target, **data)
        graph = condensed
    path = [node for node in nx.dag_longest_path(graph, weight=None, default_weight=1) if node != "<loss>"]
    if len(path) < 2:
        return None
    quantities = ("module.output_gradient_norm", "module.output_std")
    if stage == "late":
        gradients, spreads = (late(trace, quantity) for quantity in quantities)
    else:
        gradients, spreads = (early(trace, quantity, 1 if stage == "first" else 5) for quantity in quantities)
    links = []
    for before, after in itertools.pairwise(path):
        low, high = gradients.get(before, math.nan), gradients.get(after, math.nan)
        gain = (
            math.log10(low / high) if low > 0 and high > 0 and math.isfinite(low) and math.isfinite(high) else math.nan
        )
        if not math.isnan(gain):
            links.append(Link(after, before, gain, graph.edges[before, after].get("operations", ())))
    return Chain(
        tuple(path),
        tuple(gradients.get(name, math.nan) for name in path),
        tuple(spreads.get(name, math.nan) for name in path),
        tuple(links),
    )
