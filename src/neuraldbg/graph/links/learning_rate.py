"""The learning rate, the decay and the other settings make the length of the update.

A rate that rises, or a setting that makes steps longer, accounts for large updates, growing gradients and a loss
that breaks after it; a rate that falls to nothing, or a decay that outweighs the gradient, for steps and weights
that shrink.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuraldbg.graph._kinds import (
    LEARNING_RATE,
    LOSS,
    OPTIMIZER,
    UPDATES,
    VALIDATION,
    WEIGHTS,
    about,
    is_activation,
    is_gradient,
    link,
    reach,
    still_acts,
)
from neuraldbg.measures.run import Run
from neuraldbg.records import CausalLink, SemanticEvent

_UP = frozenset({"spike", "diverging", "non_finite"})
_DOWN = frozenset({"not_learning", "plateau"})
#: Questions that speak of steps that are too long, and of steps or weights that fade.
_LONGER = frozenset(
    {"momentum_extreme", "momentum_dominates_updates", "adam_beta2_unusual", "adam_epsilon_vanishes_in_half"}
)
_SHORTER = frozenset({"adam_epsilon_unusual", "adam_epsilon_swamps", "weight_decay_dominates"})


def links(events: Sequence[SemanticEvent], run: Run) -> Iterator[CausalLink]:
    window = reach(run.trace.steps)
    for source, one in enumerate(events):
        kind = _kind(one)
        if kind is None:
            continue
        # A setting acts all the time; its stretch is the whole run, so that it reaches every later event.
        for target, other in enumerate(events):
            base = _base(kind, other)
            if base is not None and source != target and still_acts(one, other, window):
                yield link(source, target, events, "learning_rate", window, base)


def _kind(event: SemanticEvent) -> str | None:
    if about(event) == LEARNING_RATE:
        return "up" if event.to_state == "spike" else "down"
    if about(event) != OPTIMIZER:
        return None
    names = set(event.metadata.get("findings", ()))
    if names & _LONGER:
        return "up"
    return "down" if names & _SHORTER else None


def _base(kind: str, other: SemanticEvent) -> float | None:
    subject = about(other) if other.event_type == "optimizer_instability" else ""
    wanted = _UP if kind == "up" else _DOWN
    if subject == UPDATES:
        return 0.95 if other.to_state in wanted else None
    if subject == WEIGHTS:
        return 0.9 if other.to_state in wanted else None
    if subject == LOSS:
        return 0.7 if other.to_state in wanted else None
    if subject in (VALIDATION, LEARNING_RATE, OPTIMIZER):
        return None
    if kind == "up" and is_gradient(other) and other.to_state in ("exploding", "non_finite"):
        return 0.6
    if kind == "up" and is_activation(other) and other.to_state in ("dead", "saturated", "exploding", "non_finite"):
        return 0.5
    return 0.5 if kind == "down" and is_activation(other) and other.to_state in ("vanishing", "collapsed") else None
