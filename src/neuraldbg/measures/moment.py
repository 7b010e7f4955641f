"""When within a step something comes about: data, activations from input to loss, loss, gradients back, update."""

from __future__ import annotations

from neuraldbg.measures.flow import Flow
from neuraldbg.measures.subjects import LEARNING_RATE, LOSS, VALIDATION, WEIGHTS
from neuraldbg.records import SemanticEvent

#: Numbers of ``moment``: what lies between them is the position in the data flow.
STRUCTURE, DATA, FORWARD, LOSSES, BACKWARD, UPDATE = -1.0, 0.0, 1.0, 2.5, 3.0, 5.0


def within_step(event: SemanticEvent, flow: Flow) -> float:
    """Order of events that begin in the same step; the structure of model and loop is there before all of them."""
    if event.event_type == "wiring_fault":
        return STRUCTURE
    if event.event_type == "data_anomaly":
        return DATA
    if event.event_type == "gradient_health_transition":
        return BACKWARD + 1.0 - flow.position(event.layer) if event.layer is not None else BACKWARD + 1.5
    if event.layer is not None:
        return FORWARD + flow.position(event.layer)
    subject = event.metadata.get("subject")
    if subject in (LOSS, VALIDATION):
        return LOSSES
    # The rate is set before the step, and the weights are what the step leaves.
    return UPDATE + {LEARNING_RATE: -0.2, WEIGHTS: 0.2}.get(str(subject), 0.0)
