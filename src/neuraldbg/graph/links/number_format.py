"""Sixteen-bit numbers overflow, and round small ones to nothing.

An overflow accounts for values, losses and gradients that are not finite from its step on; rounding, and clipping of
scaled gradients, for updates that move nothing and a loss that rests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neuraldbg.graph._kinds import LOSS, UPDATES, about, is_activation, is_gradient, link, reach, still_acts
from neuraldbg.measures.run import Run
from neuraldbg.records import CausalLink, SemanticEvent

_NOTHING_LEFT = {"vanishing": 0.8, "absent": 0.8, "saturated": 0.6}
_RESTS = {"not_learning": 0.9, "plateau": 0.8}
#: State of the numbers → states of activations and gradients, and of updates and the loss.
TO_VALUES: Mapping[str, Mapping[str, float]] = {
    "overflow": {"non_finite": 0.95},
    "underflow": _NOTHING_LEFT,
    "clipped_scaled": _NOTHING_LEFT,
}
TO_COURSE: Mapping[str, Mapping[str, float]] = {
    "overflow": {"non_finite": 0.9, "diverging": 0.4, "not_learning": 0.4},
    "underflow": _RESTS,
    "clipped_scaled": _RESTS,
}


def links(events: Sequence[SemanticEvent], run: Run) -> Iterator[CausalLink]:
    window = reach(run.trace.steps)
    for source, one in enumerate(events):
        if one.event_type != "precision_anomaly":
            continue
        for target, other in enumerate(events):
            if is_activation(other) or is_gradient(other):
                base = TO_VALUES[one.to_state].get(other.to_state)
                if is_activation(other) and one.to_state != "overflow":
                    base = None
            elif other.event_type == "optimizer_instability" and about(other) in (LOSS, UPDATES):
                base = TO_COURSE[one.to_state].get(other.to_state)
            else:
                base = None
            if base is not None and still_acts(one, other, window):
                yield link(source, target, events, "number_format", window, base)
