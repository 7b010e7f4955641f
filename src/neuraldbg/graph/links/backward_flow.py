"""Gradients flow backward: what a module does to them, the modules before it receive.

A gradient event accounts for one at a module nearer the input. An activation event accounts for the gradient at and
before its module: dead and saturated units pass on next to nothing, values that are not finite give gradients that are
not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neuraldbg.graph._kinds import GRADIENT, about, is_activation, is_gradient, layers_of, link, reach, still_acts
from neuraldbg.measures.flow import Flow, flow_of
from neuraldbg.measures.run import Run
from neuraldbg.records import CausalLink, SemanticEvent

#: State of an activation → states of a gradient that it makes.
BY_ACTIVATION: Mapping[str, Mapping[str, float]] = {
    "dead": {"absent": 0.95, "vanishing": 0.9},
    "saturated": {"vanishing": 0.9, "absent": 0.7},
    "vanishing": {"vanishing": 0.7, "absent": 0.5},
    "collapsed": {"vanishing": 0.5, "absent": 0.5},
    "exploding": {"exploding": 0.7, "non_finite": 0.5},
    "non_finite": {"non_finite": 0.9},
}
#: State of a gradient → states that it makes further back.
BY_GRADIENT: Mapping[str, Mapping[str, float]] = {
    "exploding": {"exploding": 0.8, "non_finite": 0.8},
    "non_finite": {"non_finite": 0.95},
    "vanishing": {"vanishing": 0.8, "absent": 0.7},
    "absent": {"absent": 0.7, "vanishing": 0.5},
}


def links(events: Sequence[SemanticEvent], run: Run) -> Iterator[CausalLink]:
    flow, window = flow_of(run), reach(run.trace.steps)
    for target, other in enumerate(events):
        if not is_gradient(other):
            continue
        for source, one in enumerate(events):
            table = BY_ACTIVATION if is_activation(one) else BY_GRADIENT if is_gradient(one) else {}
            base = table.get(one.to_state, {}).get(other.to_state)
            if base is None or source == target or not still_acts(one, other, window):
                continue
            if _hands_back(one, other, flow):
                yield link(source, target, events, "backward_flow", window, base)


def _hands_back(one: SemanticEvent, other: SemanticEvent, flow: Flow) -> bool:
    """Whether the gradient at the target's place comes through the source's."""
    if other.layer is None:
        # The gradient of the whole model follows that of any layer.
        return about(other) == GRADIENT and one.layer is not None
    if is_activation(one) and set(layers_of(one)) & set(layers_of(other)):
        return True
    targets = layers_of(other)
    return any(flow.reached_from(targets, behind) for behind in layers_of(one))
