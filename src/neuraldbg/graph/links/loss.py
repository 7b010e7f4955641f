"""The loss reads the prediction, and the gradient starts at the loss.

An activation event anywhere on the way to the loss accounts for what the loss does from then on; a loss that jumps,
diverges or is not finite accounts for the gradient of its step; a gradient that does not arrive leaves the loss
where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neuraldbg.graph._kinds import LOSS, is_activation, is_gradient, link, reach, still_acts, where
from neuraldbg.measures.run import Run
from neuraldbg.records import CausalLink, SemanticEvent

#: State of an activation → states of the loss.
BY_ACTIVATION: Mapping[str, Mapping[str, float]] = {
    "non_finite": {"non_finite": 0.95},
    "exploding": {"non_finite": 0.7, "spike": 0.6, "diverging": 0.7},
    "dead": {"plateau": 0.8, "not_learning": 0.8, "diverging": 0.4},
    "saturated": {"plateau": 0.6, "not_learning": 0.6, "diverging": 0.4, "spike": 0.3},
    "vanishing": {"plateau": 0.6, "not_learning": 0.8},
    "collapsed": {"plateau": 0.8, "not_learning": 0.8, "diverging": 0.3},
}
#: State of the loss → states of the gradient.
TO_GRADIENT: Mapping[str, Mapping[str, float]] = {
    "non_finite": {"non_finite": 0.95},
    "spike": {"exploding": 0.7},
    "diverging": {"exploding": 0.6, "non_finite": 0.4},
}
#: State of the gradient → states of the loss that it leaves behind.
BY_GRADIENT: Mapping[str, Mapping[str, float]] = {
    "absent": {"plateau": 0.7, "not_learning": 0.8},
    "vanishing": {"plateau": 0.5, "not_learning": 0.6},
}


def links(events: Sequence[SemanticEvent], run: Run) -> Iterator[CausalLink]:
    window = reach(run.trace.steps)
    for index, loss in where(events, event_type="optimizer_instability", subject=LOSS):
        for other, event in enumerate(events):
            by = BY_ACTIVATION if is_activation(event) else BY_GRADIENT if is_gradient(event) else {}
            base = by.get(event.to_state, {}).get(loss.to_state)
            if base is not None and still_acts(event, loss, window):
                yield link(other, index, events, "loss", window, base)
            base = TO_GRADIENT.get(loss.to_state, {}).get(event.to_state) if is_gradient(event) else None
            if base is not None and still_acts(loss, event, window):
                yield link(index, other, events, "loss", window, base)
