"""Linear layers feed each other with nothing between them.

## What it detects
Linear or convolution layers whose output another one reads without any nonlinear operation on the way.

## Why it matters
Two linear maps in a row are one linear map: the stack can fit no more than a single layer, at the cost of two.

## Evidence
Fact `model.flow`: the operations between the outputs of modules.

## When it is wrong
Low-rank factors, depthwise-separable convolutions, adapters and the projections of attention are linear pairs on
purpose.

## References
Minsky and Papert 1969; Goodfellow, Bengio and Courville 2016, section 6.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from neuraldbg.detectors._event import named, saw
from neuraldbg.measures.depth import flow_graph
from neuraldbg.measures.linearity import LINEAR_KINDS, NONLINEAR_KINDS, NONLINEAR_OPERATIONS
from neuraldbg.measures.run import Run
from neuraldbg.records import SemanticEvent

NEEDS: tuple[str, ...] = ()


def detect(run: Run) -> Iterator[SemanticEvent]:
    graph = flow_graph(run.trace)
    pairs = []
    for target in graph.nodes:
        if run.module_details(target).get("kind") in LINEAR_KINDS:
            pairs += [(source, target) for source in _linear_sources(run, graph, target, 4)]
    if not pairs:
        return
    source, target = pairs[0]
    nonlinear = any(
        operation in NONLINEAR_OPERATIONS
        for _, reader, data in graph.edges(data=True)
        if reader != "<loss>"
        for operation in data.get("operations", ())
    ) or any(run.module_details(node).get("kind") in NONLINEAR_KINDS for node in graph.nodes)
    findings = ("linear_layers_in_a_row",) + (() if nonlinear else ("model_is_linear_throughout",))
    throughout = "" if nonlinear else "; the whole model is linear"
    yield saw(
        "wiring_fault",
        "faulty",
        (0, max(0, run.trace.last_step)),
        (
            f"{named(source)} feeds {named(target)} with no nonlinearity "
            f"between them ({len(pairs)} such pair(s)){throughout}"
        ),
        layer=source,
        findings=findings,
        confidence=0.6 if nonlinear else 0.9,
        pairs=len(pairs),
    )


def _linear_sources(run: Run, graph: object, target: str, depth: int) -> list[str]:
    """Linear layers that a linear layer reads without a nonlinearity on the way."""
    found: list[str] = []
    for source in graph.predecessors(target):  # type: ignore[attr-defined]
        operations = graph.edges[source, target].get("operations", ())  # type: ignore[attr-defined]
        kind = run.module_details(source).get("kind")
        if any(operation in NONLINEAR_OPERATIONS for operation in operations):
            continue
        if kind in LINEAR_KINDS:
            found.append(source)
        elif kind in ("dropout", "norm") and depth > 0:
            found.extend(_linear_sources(run, graph, source, depth - 1))
    return found
