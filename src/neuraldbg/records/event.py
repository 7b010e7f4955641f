"""What happened: a change of state at a place, compressed over time and neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

EVENT_TYPES = (
    "gradient_health_transition",
    "activation_regime_shift",
    "optimizer_instability",
    "data_anomaly",
    "wiring_fault",
    "precision_anomaly",
)

#: The states that each type of event moves between.
STATES: Mapping[str, tuple[str, ...]] = {
    "gradient_health_transition": ("healthy", "vanishing", "exploding", "saturated", "non_finite", "absent"),
    "activation_regime_shift": ("normal", "dead", "saturated", "non_finite", "exploding", "vanishing", "collapsed"),
    "optimizer_instability": ("stable", "plateau", "spike", "diverging", "not_learning", "non_finite"),
    "data_anomaly": ("normal", "nan", "inf", "shifted", "outlier", "unscaled", "constant", "unordered", "imbalanced"),
    "wiring_fault": ("intact", "faulty"),
    "precision_anomaly": ("sound", "overflow", "underflow", "clipped_scaled"),
}


@dataclass(frozen=True)
class SemanticEvent:
    """One change of state at one place, over a range of steps."""

    #: One of EVENT_TYPES.
    event_type: str
    #: ``named_modules()`` path, "" for the root, None where no module is concerned.
    layer: str | None
    #: ``named_parameters()`` path, or None.
    parameter: str | None
    #: State before, one of STATES[event_type].
    from_state: str
    #: State after, one of STATES[event_type].
    to_state: str
    #: First and last step of the state, both included.
    step_range: tuple[int, int]
    #: 0..1, how far the numbers lie beyond what the state needs.
    confidence: float
    #: Numbers behind it; ``detector``; ``sentence``; ``propagation`` for a spread over neighbours; ``coupled`` events.
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The layer, else the parameter, else what the event is about, as a label."""
        if self.parameter:
            return self.parameter
        if self.layer is not None:
            return self.layer or "the model"
        return str(self.metadata.get("subject", self.event_type))

    def __str__(self) -> str:
        first, last = self.step_range
        steps = f"step {first}" if first == last else f"steps {first} to {last}"
        sentence = self.metadata.get("sentence")
        return (
            f"{steps}: {sentence}"
            if sentence
            else f"{steps}: {self.place} went from {self.from_state} to {self.to_state}"
        )
