"""The gradient makes the update, the update the weights, and the weights the next forward.

A large or bad gradient makes a large or bad step; a step that moves the weights far accounts for units that die or
saturate, values that explode and a loss that jumps from the next forward on; steps that move nothing leave the loss
where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neuraldbg.graph._kinds import LOSS, UPDATES, WEIGHTS, about, is_activation, is_gradient, link, reach, still_acts
from neuraldbg.measures.run import Run
from neuraldbg.records import CausalLink, SemanticEvent

_LARGE = frozenset({"spike", "diverging"})
#: State of the gradient → states of the updates.
GRADIENT_TO_UPDATE: Mapping[str, Mapping[str, float]] = {
    "exploding": {"spike": 0.9, "diverging": 0.8},
    "non_finite": {"spike": 0.6, "diverging": 0.6},
    "vanishing": {"not_learning": 0.6},
    "absent": {"not_learning": 0.8},
    "saturated": {"not_learning": 0.5},
}
#: States of activations and of the loss in the forwards after a gradient that exploded.
GRADIENT_TO_NEXT: Mapping[str, float] = {
    "spike": 0.7,
    "diverging": 0.7,
    "non_finite": 0.7,
    "dead": 0.6,
    "saturated": 0.5,
    "exploding": 0.6,
}
#: States of activations after a step that moved the weights far.
LARGE_TO_ACTIVATION: Mapping[str, float] = {
    "dead": 0.9,
    "saturated": 0.8,
    "exploding": 0.9,
    "non_finite": 0.8,
    "collapsed": 0.7,
    "vanishing": 0.5,
}
#: States of the loss after such a step, and after steps that move nothing.
LARGE_TO_LOSS: Mapping[str, float] = {"spike": 0.8, "diverging": 0.8, "non_finite": 0.8, "plateau": 0.5}
SMALL_TO_LOSS: Mapping[str, float] = {"not_learning": 0.9, "plateau": 0.7}
#: Gradients after a step that moved the weights far, or after weights that were lost.
LARGE_TO_GRADIENT: Mapping[str, float] = {"exploding": 0.7, "non_finite": 0.6, "absent": 0.3}


def links(events: Sequence[SemanticEvent], run: Run) -> Iterator[CausalLink]:
    window = reach(run.trace.steps)
    for source, one in enumerate(events):
        if not (is_gradient(one) or _moves(one)):
            continue
        for target, other in enumerate(events):
            base = _base(one, other) if source != target and still_acts(one, other, window) else None
            if base is not None:
                yield link(source, target, events, "update", window, base)


def _moves(one: SemanticEvent) -> bool:
    return one.event_type == "optimizer_instability" and about(one) in (UPDATES, WEIGHTS)


def _base(one: SemanticEvent, other: SemanticEvent) -> float | None:
    """How surely the one makes the other by way of a step, or None."""
    if is_gradient(one):
        if about(other) == UPDATES:
            return GRADIENT_TO_UPDATE.get(one.to_state, {}).get(other.to_state)
        # Without a measured step in between: what the step made of the weights shows in the next forward.
        if other.step_range[0] <= one.step_range[0] or not (is_activation(other) or about(other) == LOSS):
            return None
        if one.to_state == "non_finite" == other.to_state:
            return 0.9
        return GRADIENT_TO_NEXT.get(other.to_state) if one.to_state == "exploding" else None
    if not _moves(one):
        return None
    large = one.to_state in _LARGE
    if is_activation(other):
        return LARGE_TO_ACTIVATION.get(other.to_state) if large else (0.5 if other.to_state == "vanishing" else None)
    if is_gradient(other):
        return LARGE_TO_GRADIENT.get(other.to_state) if large else None
    if about(other) == LOSS and other.event_type == "optimizer_instability":
        return (LARGE_TO_LOSS if large else SMALL_TO_LOSS).get(other.to_state)
    if about(one) == UPDATES and about(other) == WEIGHTS:
        return 0.7 if large and other.to_state in _LARGE else None
    return None
