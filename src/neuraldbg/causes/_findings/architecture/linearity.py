"""Linear layers with no nonlinearity between them."""

from __future__ import annotations

import networkx as nx

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.depth import flow_graph
from neuraldbg.measures.linearity import LINEAR_KINDS, NONLINEAR_KINDS, NONLINEAR_OPERATIONS
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding

#: How a linear layer's own product is called in the graph.
_OWN = frozenset({"Addmm", "Mm", "Bmm", "Addbmm", "Convolution"})


def linear_layers_in_a_row(run: Run) -> Finding:
    """Linear or convolution layers feed each other with no nonlinearity between them."""
    graph = flow_graph(run.trace)
    if graph.number_of_nodes() < 2:
        return unmeasured()
    pairs, all_pairs = [], 0
    for target in graph.nodes:
        if run.module_details(target).get("kind") not in LINEAR_KINDS:
            continue
        for source in _linear_sources(run, graph, target):
            all_pairs += 1
            if source is not None:
                pairs.append((source, target))
    if not pairs:
        return absent()
    source, target = pairs[0]
    return present(
        f"'{source}' feeds '{target}' with no nonlinearity between them ({len(pairs)} such pair(s))",
        layer=source,
        pairs=len(pairs),
        all=all_pairs,
    )


def _bends(run: Run, graph: nx.DiGraph, source: str, target: str) -> bool:
    """Whether an operation between two modules is nonlinear; a linear layer's own product with its weights is not."""
    operations = graph.edges[source, target].get("operations", ())
    if operations and operations[-1] in _OWN and run.module_details(target).get("kind") in LINEAR_KINDS:
        operations = operations[:-1]
    return any(operation in NONLINEAR_OPERATIONS for operation in operations)


def _is_sum_of_its_own(graph: nx.DiGraph, container: str) -> bool:
    """Whether a container's output comes from its own modules with nothing but sums in between."""
    sources = list(graph.predecessors(container))
    return bool(sources) and all(str(source).startswith(f"{container}.") for source in sources)


def _linear_sources(run: Run, graph: nx.DiGraph, target: str, depth: int = 4) -> list[str | None]:
    """For each way into a linear layer: the linear layer it comes from without a nonlinearity, or None."""
    found: list[str | None] = []
    for source in graph.predecessors(target):
        kind = run.module_details(source).get("kind")
        if _bends(run, graph, source, target) or kind in NONLINEAR_KINDS:
            found.append(None)
        elif kind in LINEAR_KINDS:
            found.append(source)
        elif (kind == "container" and depth > 0 and _is_sum_of_its_own(graph, source)) or (
            kind in ("dropout", "norm") and depth > 0
        ):
            found.extend(_linear_sources(run, graph, source, depth - 1))
        else:
            found.append(None)
    return found


def model_is_linear_throughout(run: Run) -> Finding:
    """No nonlinearity lies anywhere between input and output of a model with several linear layers."""
    graph = flow_graph(run.trace)
    if graph.number_of_nodes() < 3:
        return absent() if graph.number_of_nodes() else unmeasured()
    kinds = [run.module_details(node).get("kind") for node in graph.nodes if node != "<loss>"]
    if sum(kind in LINEAR_KINDS for kind in kinds) < 2:
        return absent()
    if any(kind in NONLINEAR_KINDS for kind in kinds):
        return absent()
    bent = any(_bends(run, graph, source, target) for source, target in graph.edges if target != "<loss>")
    return when(not bent, "no nonlinearity lies between input and output", layer="")
