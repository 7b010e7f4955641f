"""Which operations and modules bend the map from input to output, and where linear layers feed each other straight."""

from __future__ import annotations

import networkx as nx

from neuraldbg.measures.depth import flow_graph
from neuraldbg.measures.run import Run

#: Autograd operations that are affine in what they read, as far as a stack of layers is concerned: a norm between two
#: linear layers does not stand in for a nonlinearity. Whatever is not listed, a user's own Function too, may bend.
#: Products with a constant are recorded as ``Constant...``; those of two values that both vary are not affine.
AFFINE_OPERATIONS = frozenset(
    {
        "Add", "Sub", "Rsub", "Neg", "Sum", "Nansum", "Mean", "Nanmean", "Cumsum", "Addmm", "Addmv", "Addbmm",
        "Convolution", "SlowConv3D", "Split", "UnsafeSplit", "Chunk", "ConstantPadNd", "Diagonal", "Trace",
        "Roll", "Flip", "Repeat", "Unfold", "Im2Col", "Col2Im", "AvgPool1D", "AvgPool2D", "AvgPool3D",
        "AdaptiveAvgPool1D", "AdaptiveAvgPool2D", "AdaptiveAvgPool3D", "UpsampleNearest1D", "UpsampleNearest2D",
        "UpsampleNearest3D", "UpsampleLinear1D", "UpsampleBilinear2D", "UpsampleBicubic2D",
        "UpsampleTrilinear3D", "ReflectionPad1D", "ReflectionPad2D", "ReplicationPad1D", "ReplicationPad2D",
        "NativeDropout", "NativeBatchNorm", "CudnnBatchNorm", "MiopenBatchNorm", "NativeLayerNorm",
        "NativeGroupNorm", "ToCopy", "Clone", "Detach", "Real", "Imag",
    }
)  # fmt: skip
#: Kinds of module (details of a place) that are affine, and that are not.
LINEAR_KINDS = frozenset({"linear", "convolution"})
NONLINEAR_KINDS = frozenset({"activation", "recurrent", "attention"})
#: How a linear layer's own product is called in the graph.
_OWN = frozenset(
    {
        "Addmm", "Mm", "Bmm", "Addbmm", "Baddbmm", "Linear", "MkldnnLinear", "Convolution", "ConvolutionOverrideable",
        "CudnnConvolution", "MkldnnConvolution", "ThnnConv2D", "SlowConv2D", "SlowConv3D", "SlowConvDilated2D",
        "SlowConvDilated3D", "SlowConvTranspose2D", "SlowConvTranspose3D", "ConvDepthwise2D", "ConvDepthwise3D",
    }
)  # fmt: skip
#: Modules that are passed through on the way from one linear layer to the next.
_PASSED = 4


def linear_sources(run: Run) -> list[tuple[str | None, str]]:
    """(source, target) for each way into a linear layer; source is None where a nonlinearity lies on it, or beside it.

    What a layer reads straight from another one and adds to a nonlinear branch is a shortcut, no missing activation.
    """
    graph = flow_graph(run.trace)
    return [
        (source, target)
        for target in graph.nodes
        if run.module_details(target).get("kind") in LINEAR_KINDS
        for source in _all_or_none(_sources(run, graph, target, _PASSED))
    ]


def _all_or_none(ways: list[str | None]) -> list[str | None]:
    return [None] if None in ways else ways


def linear_throughout(run: Run) -> bool:
    """Whether a model of at least two linear layers has no nonlinearity before the last of them.

    What comes after it, a distance between two embeddings or an output activation, does not stand in for one.
    """
    graph = flow_graph(run.trace)
    kinds = {node: run.module_details(node).get("kind") for node in graph.nodes if node != "<loss>"}
    linear = [node for node, kind in kinds.items() if kind in LINEAR_KINDS]
    if len(linear) < 2:
        return False
    if not any(kind in NONLINEAR_KINDS for kind in kinds.values()) and not any(
        _bends(run, graph, source, target) for source, target in graph.edges if target != "<loss>"
    ):
        return True
    sources = [source for source, _ in linear_sources(run)]
    before = set().union(*(nx.ancestors(graph, node) for node in linear))
    return bool(sources) and None not in sources and not any(kinds.get(node) in NONLINEAR_KINDS for node in before)


def _bends(run: Run, graph: nx.DiGraph, source: str, target: str) -> bool:
    """Whether an operation between two modules is nonlinear; a linear layer's own product with its weights is not."""
    operations = graph.edges[source, target].get("operations", ())
    if operations and operations[-1] in _OWN and run.module_details(target).get("kind") in LINEAR_KINDS:
        operations = operations[:-1]
    return any(name not in AFFINE_OPERATIONS and not name.startswith("Constant") for name in operations)


def _sources(run: Run, graph: nx.DiGraph, target: str, depth: int) -> list[str | None]:
    found: list[str | None] = []
    for source in graph.predecessors(target):
        kind = run.module_details(source).get("kind")
        if _bends(run, graph, source, target) or kind in NONLINEAR_KINDS:
            found.append(None)
        elif kind in LINEAR_KINDS:
            found.append(source)
        elif depth > 0 and (
            kind in ("dropout", "norm", "identity") or (kind == "container" and _sums_its_own(graph, source))
        ):
            found.extend(_all_or_none(_sources(run, graph, source, depth - 1)))
        else:
            found.append(None)
    return found


def _sums_its_own(graph: nx.DiGraph, container: str) -> bool:
    """Whether a container's output comes from its own modules with nothing but sums in between."""
    sources = list(graph.predecessors(container))
    return bool(sources) and all(str(source).startswith(f"{container}.") for source in sources)
