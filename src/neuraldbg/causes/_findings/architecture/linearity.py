"""Linear layers with no nonlinearity between them."""

from __future__ import annotations

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.depth import flow_graph
from neuraldbg.measures.linearity import linear_sources, linear_throughout
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding

#: Share of its start to which a loss falls when one linear map was all that the task asked for.
_LEARNED = 0.2


def linear_layers_in_a_row(run: Run) -> Finding:
    """Linear or convolution layers feed each other with no nonlinearity between them."""
    if flow_graph(run.trace).number_of_nodes() < 2:
        return unmeasured()
    ways = linear_sources(run)
    pairs = [(source, target) for source, target in ways if source is not None]
    if not pairs:
        return absent()
    source, target = pairs[0]
    return present(
        f"'{source}' feeds '{target}' with no nonlinearity between them ({len(pairs)} such pair(s))",
        layer=source,
        pairs=len(pairs),
        all=len(ways),
    )


def model_is_linear_throughout(run: Run) -> Finding:
    """No nonlinearity lies anywhere between input and output of a model with several linear layers."""
    if run.learned_to(_LEARNED):
        return absent()
    nodes = flow_graph(run.trace).number_of_nodes()
    if nodes < 3:
        return absent() if nodes else unmeasured()
    return when(linear_throughout(run), "no nonlinearity lies between input and output", layer="")
