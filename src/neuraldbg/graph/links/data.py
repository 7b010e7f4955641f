"""Data enters at the input, and at the loss.

What is wrong with the input accounts for what the first layers and their gradients do from that step on; what is wrong
with the targets for what the loss and its gradient do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neuraldbg.graph._kinds import (
    INPUT,
    LOSS,
    TARGET,
    UPDATES,
    VALIDATION,
    about,
    is_activation,
    is_gradient,
    link,
    reach,
    still_acts,
)
from neuraldbg.measures.flow import Flow, flow_of
from neuraldbg.measures.run import Run
from neuraldbg.records import CausalLink, SemanticEvent

#: State of the data → states of activations, of the gradient, of the loss, of updates.
TO_ACTIVATION: Mapping[str, Mapping[str, float]] = {
    "nan": {"non_finite": 0.98},
    "inf": {"non_finite": 0.98},
    "outlier": {"exploding": 0.8, "saturated": 0.6, "non_finite": 0.7, "dead": 0.4},
    "unscaled": {"exploding": 0.7, "saturated": 0.9, "dead": 0.6, "non_finite": 0.5, "vanishing": 0.3},
    "shifted": {"exploding": 0.5, "saturated": 0.6, "dead": 0.5},
    "constant": {"collapsed": 0.9, "vanishing": 0.8},
}
TO_GRADIENT: Mapping[str, Mapping[str, float]] = {
    "nan": {"non_finite": 0.8},
    "inf": {"non_finite": 0.8},
    "outlier": {"exploding": 0.9, "non_finite": 0.6},
    "unscaled": {"exploding": 0.7, "saturated": 0.5},
    "shifted": {"exploding": 0.6},
}
TO_LOSS: Mapping[str, Mapping[str, float]] = {
    "nan": {"non_finite": 0.95},
    "inf": {"non_finite": 0.95},
    "outlier": {"spike": 0.9, "diverging": 0.7, "non_finite": 0.7},
    "unscaled": {"diverging": 0.6, "not_learning": 0.6, "plateau": 0.6, "non_finite": 0.5, "spike": 0.4},
    "shifted": {"diverging": 0.8, "spike": 0.7, "plateau": 0.4},
    "constant": {"not_learning": 0.8, "plateau": 0.8},
    "unordered": {"spike": 0.7, "diverging": 0.5, "not_learning": 0.5, "plateau": 0.5},
    "imbalanced": {"plateau": 0.6, "not_learning": 0.5},
}
#: Modules this near the input are those that an input reaches by itself: a third of the way to the loss.
FIRST = 0.34


def links(events: Sequence[SemanticEvent], run: Run) -> Iterator[CausalLink]:
    flow, window = flow_of(run), reach(run.trace.steps)
    for source, one in enumerate(events):
        if one.event_type != "data_anomaly":
            continue
        for target, other in enumerate(events):
            base = _base(one, other, flow)
            if base is not None and still_acts(one, other, window):
                yield link(source, target, events, "data", window, base)


def _base(one: SemanticEvent, other: SemanticEvent, flow: Flow) -> float | None:
    entering = about(one).startswith(INPUT)
    if is_activation(other):
        base = TO_ACTIVATION.get(one.to_state, {}).get(other.to_state)
        everywhere = one.to_state in ("nan", "inf", "outlier", "constant")
        return base if entering and (everywhere or flow.position(other.layer) <= FIRST) else None
    if is_gradient(other):
        return TO_GRADIENT.get(one.to_state, {}).get(other.to_state)
    if other.event_type != "optimizer_instability":
        # Without variation in the data the prediction has none either; ordered batches come out as one-sided answers.
        return None
    if about(other) == LOSS:
        return TO_LOSS.get(one.to_state, {}).get(other.to_state)
    if about(other) == UPDATES and other.to_state in ("spike", "diverging"):
        return 0.7 if one.to_state in ("unscaled", "outlier", "shifted") else None
    if about(other) == VALIDATION:
        return 0.8 if one.to_state == "shifted" and entering else None
    return 0.4 if about(one) == TARGET and about(other) == "the predictions" else None
