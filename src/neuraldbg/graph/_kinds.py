"""What kind of thing an event is about, and how a link is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from neuraldbg.measures.subjects import (
    GRADIENT,
    INPUT,
    LEARNING_RATE,
    LOSS,
    OPTIMIZER,
    TARGET,
    UPDATES,
    VALIDATION,
    WEIGHTS,
)
from neuraldbg.records import CausalLink, SemanticEvent

#: Steps over which an influence is looked for, and share of the run: what takes longer has lost its strength.
REACH, REACH_SHARE = 20, 0.05

__all__ = [
    "GRADIENT",
    "INPUT",
    "LEARNING_RATE",
    "LOSS",
    "OPTIMIZER",
    "TARGET",
    "UPDATES",
    "VALIDATION",
    "WEIGHTS",
    "about",
    "is_activation",
    "is_gradient",
    "layers_of",
    "link",
    "reach",
    "still_acts",
    "where",
]


def about(event: SemanticEvent) -> str:
    """The subject of an event that concerns no layer."""
    return str(event.metadata.get("subject", ""))


def is_activation(event: SemanticEvent) -> bool:
    return event.event_type == "activation_regime_shift"


def is_gradient(event: SemanticEvent) -> bool:
    return event.event_type == "gradient_health_transition"


def layers_of(event: SemanticEvent) -> tuple[str, ...]:
    """All layers that an event covers: its own, and those that it spread to."""
    spread = event.metadata.get("propagation", {}).get("order", ())
    own = () if event.layer is None else (event.layer,)
    return tuple(dict.fromkeys([*own, *spread]))


def where(
    events: Sequence[SemanticEvent], *, event_type: str | None = None, states: Iterable[str] = (), subject: str = ""
) -> Iterator[tuple[int, SemanticEvent]]:
    """Positions and events of a type, in one of some states, about a subject; what is not given does not matter."""
    wanted = frozenset(states)
    for index, event in enumerate(events):
        fits = event_type is None or event.event_type == event_type
        if fits and (not wanted or event.to_state in wanted) and (not subject or about(event).startswith(subject)):
            yield index, event


def reach(steps: int) -> int:
    """Steps over which an influence is looked for in a run of so many steps."""
    return max(REACH, int(REACH_SHARE * steps))


def still_acts(source: SemanticEvent, target: SemanticEvent, window: int) -> bool:
    """Whether the source had begun and was not long over when the target began."""
    begins = target.step_range[0]
    return source.step_range[0] <= begins <= source.step_range[1] + window


def link(
    source: int, target: int, events: Sequence[SemanticEvent], reason: str, window: int, base: float
) -> CausalLink:
    """A link whose strength is ``base`` at once and half of it at the end of the window, times both confidences."""
    one, other = events[source], events[target]
    lag = max(0, other.step_range[0] - one.step_range[0])
    waited = max(0, other.step_range[0] - one.step_range[1])
    delay = 0.5 * min(1.0, max(waited, min(lag, window) / 2) / max(1, window))
    strength = base * (1.0 - delay) * (0.5 + 0.5 * min(one.confidence, other.confidence))
    return CausalLink(source, target, reason, lag, round(strength, 3))
