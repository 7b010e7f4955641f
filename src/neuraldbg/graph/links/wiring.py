"""A fault in the wiring disables what depends on it.

A cut, a freeze or a forgotten parameter group accounts for gradients and updates that do not come; a loss that is built
wrongly for a loss that rests; a mode, a rate or a weight that is off for what its own module does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neuraldbg.graph._kinds import (
    LOSS,
    UPDATES,
    VALIDATION,
    WEIGHTS,
    about,
    is_activation,
    is_gradient,
    layers_of,
    link,
    reach,
    still_acts,
)
from neuraldbg.measures.flow import Flow, flow_of
from neuraldbg.measures.run import Run
from neuraldbg.records import CausalLink, SemanticEvent

_RESTS = frozenset({"plateau", "not_learning"})
_BREAKS = frozenset({"spike", "diverging", "non_finite"})
_LARGE_GRADIENT = frozenset({"exploding", "non_finite"})
_NO_GRADIENT = frozenset({"absent", "vanishing"})
_FLAT = frozenset({"vanishing", "collapsed"})
#: Detector → (states of the loss, of gradients, of updates, of activations) that its fault makes.
MAKES: Mapping[str, tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[str]]] = {
    "loss_graph": (_RESTS, frozenset({"vanishing", "absent"}), frozenset(), frozenset({"collapsed"})),
    "loss_shapes": (_RESTS, frozenset(), frozenset(), frozenset({"collapsed"})),
    "loss_sign_and_size": (_BREAKS, _LARGE_GRADIENT | {"saturated"}, _BREAKS, frozenset({"exploding", "dead"})),
    "gradients_uncleared": (_BREAKS, _LARGE_GRADIENT, _BREAKS, frozenset({"exploding", "dead", "non_finite"})),
    "steps_missing": (_RESTS, frozenset(), frozenset({"not_learning"}), frozenset()),
    "parameters_outside": (_RESTS, frozenset(), frozenset({"not_learning"}), frozenset()),
    "parameters_frozen": (_RESTS, frozenset({"absent"}), frozenset({"not_learning"}), frozenset()),
    "graph_cut": (_RESTS, frozenset({"absent"}), frozenset({"not_learning"}), frozenset()),
    "training_mode": (_RESTS | _BREAKS, _LARGE_GRADIENT, frozenset(), frozenset({"exploding"})),
    "batch_statistics": (_RESTS | {"spike", "diverging"}, frozenset(), frozenset(), _FLAT),
    "dropout_rate": (_RESTS | {"spike"}, frozenset(), frozenset(), frozenset()),
    "linear_stack": (_RESTS, frozenset(), frozenset(), frozenset()),
    "ranks_apart": (_RESTS | _BREAKS, frozenset(), frozenset(), frozenset()),
    "initial_weights": (
        _RESTS | _BREAKS,
        _NO_GRADIENT | _LARGE_GRADIENT,
        frozenset(),
        frozenset({"dead", "saturated", "exploding", "vanishing", "collapsed"}),
    ),
}  # fmt: skip
#: Where a fault in one place shows: at that place and behind it, or for gradients at it and before it.
_LOCAL = frozenset({"graph_cut", "parameters_frozen", "training_mode", "batch_statistics", "initial_weights"})


def links(events: Sequence[SemanticEvent], run: Run) -> Iterator[CausalLink]:
    flow, window = flow_of(run), reach(run.trace.steps)
    for source, one in enumerate(events):
        makes = MAKES.get(str(one.metadata.get("detector"))) if one.event_type == "wiring_fault" else None
        if makes is None:
            continue
        # Initial weights are there once; what they make shows in the first steps.
        for target, other in enumerate(events):
            base = _base(one, other, makes, flow) if source != target and still_acts(one, other, window) else None
            if base is not None:
                yield link(source, target, events, "wiring", window, base)


def _base(
    one: SemanticEvent,
    other: SemanticEvent,
    makes: tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[str]],
    flow: Flow,
) -> float | None:
    losses, gradients, updates, activations = makes
    detector = str(one.metadata.get("detector"))
    if other.event_type == "optimizer_instability":
        if about(other) == LOSS:
            return 0.7 if other.to_state in losses else None
        if about(other) == VALIDATION:
            return 0.7 if detector in ("training_mode", "batch_statistics") else None
        return 0.8 if about(other) in (UPDATES, WEIGHTS) and other.to_state in updates else None
    if is_gradient(other) and other.to_state in gradients:
        return 0.9 if detector not in _LOCAL or _before(one, other, flow) else None
    if is_activation(other) and other.to_state in activations:
        return 0.9 if detector not in _LOCAL or _behind(one, other, flow) else None
    return None


def _behind(one: SemanticEvent, other: SemanticEvent, flow: Flow) -> bool:
    """Whether the target lies at the source's module, inside of it, or behind it."""
    own = one.layer or ""
    return any(
        layer == own or not own or layer.startswith(own + ".") or flow.reaches(own, layer) for layer in layers_of(other)
    )


def _before(one: SemanticEvent, other: SemanticEvent, flow: Flow) -> bool:
    """Whether the target lies at the source's module, inside of it, or before it."""
    own = one.layer or ""
    return other.layer is None or any(
        layer == own or not own or layer.startswith(own + ".") or flow.reaches(layer, own) for layer in layers_of(other)
    )
