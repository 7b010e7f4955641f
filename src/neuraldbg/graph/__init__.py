"""Stage 3: from events to the graph of what accounts for what."""

from neuraldbg.graph.build import CausalGraph, build_graph, coupled_failures
from neuraldbg.graph.chains import chain
from neuraldbg.graph.origins import producers, roots

__all__ = ["CausalGraph", "build_graph", "chain", "coupled_failures", "producers", "roots"]
