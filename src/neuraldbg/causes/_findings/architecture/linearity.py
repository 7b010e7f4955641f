"""Linear layers with no nonlinearity between them."""

from __future__ import annotations

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.depth import flow_graph
from neuraldbg.measures.linearity import LINEAR_KINDS, NONLINEAR_KINDS, NONLINEAR_OPERATIONS
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


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


def _linear_sources(run: Run, graph: object, target: str, depth: int = 4) -> list[str | None]:
    """For each way into a linear layer: the linear layer it comes from without a nonlinearity, or None."""
    found: list[str | None] = []
    for source in graph.predecessors(target):  # type: ignore[attr-defined]
        operations = graph.edges[source, target].get("operations", ())  # type: ignore[attr-defined]
        kind = run.module_details(source).get("kind")
        own = run.module_details(source).get("leaf", False)
        if (
            any(op in NONLINEAR_OPERATIONS for op in operations)
            or kind in NONLINEAR_KINDS
            or (not own and kind == "container")
        ):
            found.append(None)
        elif kind in LINEAR_KINDS:
            found.append(source)
        elif kind in ("dropout", "norm") and depth > 0:
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
    inner = [
        op for _, target, data in graph.edges(data=True) if target != "<loss>" for op in data.get("operations", ())
    ]
    return when(
        not any(op in NONLINEAR_OPERATIONS for op in inner), "no nonlinearity lies between input and output", layer=""
    )
