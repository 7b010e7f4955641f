"""What the structure of a loss allows and does not allow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Kinds of loss that subtract the target from the prediction.
RESIDUAL = frozenset({"mse", "l1", "smooth_l1", "huber", "handmade_square", "handmade_absolute"})
#: Kinds of loss that cannot be negative when their targets are valid.
BOUNDED_BELOW = RESIDUAL | {"cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits"}
#: Operations that give probabilities.
PROBABILITIES = frozenset({"Softmax", "Sigmoid"})
#: What an output activation can give: (lowest, highest).
RANGES: Mapping[str, tuple[float, float]] = {
    "Relu": (0.0, math.inf),
    "Threshold": (0.0, math.inf),
    "Sigmoid": (0.0, 1.0),
    "Softmax": (0.0, 1.0),
    "Tanh": (-1.0, 1.0),
    "Softplus": (0.0, math.inf),
    "Hardtanh": (-1.0, 1.0),
    "Hardsigmoid": (0.0, 1.0),
    "Exp": (0.0, math.inf),
    "LogSoftmax": (-math.inf, 0.0),
    "LogSigmoid": (-math.inf, 0.0),
    "LogSigmoidForward": (-math.inf, 0.0),
}
#: Operations between model and loss that leave ordinary values as they are.
PLAIN = frozenset({"Clamp", "ClampMin", "ClampMax"})
#: Activations that limit what logits can say.
_LIMITS_LOGITS = frozenset({"Relu", "Threshold", "Tanh", "Hardtanh", "LogSigmoid"})
_ONE_SIDED = frozenset({"Relu", "Threshold", "Softplus", "Exp"})


@dataclass(frozen=True)
class OutputActivation:
    """An activation between the model and the loss that should not be there, or not be this one."""

    operation: str
    #: Path of the module that computes it, else of the one that feeds it.
    layer: str | None


def output_chain(term: Mapping[str, Any]) -> tuple[list[str], int]:
    """Output activations of a term, nearest the loss first, without those that belong to the loss; and their offset."""
    chain = [str(name) for name in term.get("chain", ()) if name not in PLAIN]
    if term.get("kind") == "cross_entropy" and chain[:1] == ["LogSoftmax"]:
        return chain[1:], 1
    return chain, 0


def twice_applied(term: Mapping[str, Any]) -> OutputActivation | None:
    """A softmax or sigmoid in front of a loss that applies one itself."""
    kind, (chain, offset) = term.get("kind"), output_chain(term)
    if kind == "binary_cross_entropy" and chain[:1] in (["Sigmoid"], ["Softmax"]):
        chain, offset = chain[1:], 1
    elif kind in ("other", "cross_entropy") and chain[:1] == ["Log"]:
        chain, offset = chain[2:], 2
    elif not (offset == 1 or kind == "binary_cross_entropy_with_logits"):
        return None
    for index, name in enumerate(chain[:2]):
        if name in PROBABILITIES:
            return OutputActivation(name, activation_layer(term, offset + index))
    return None


def limits_logits(term: Mapping[str, Any]) -> OutputActivation | None:
    """An activation that takes away what logits need: both signs and any size."""
    chain, offset = output_chain(term)
    if not chain:
        return None
    limiting = (
        _LIMITS_LOGITS if term.get("kind") == "cross_entropy" else _ONE_SIDED | {"Tanh", "Hardtanh", "LogSoftmax"}
    )
    if term.get("kind") in ("cross_entropy", "binary_cross_entropy_with_logits") and chain[0] in limiting:
        return OutputActivation(chain[0], activation_layer(term, offset))
    return None


def bounded_output(term: Mapping[str, Any]) -> tuple[OutputActivation, tuple[float, float]] | None:
    """The last activation in front of a residual loss, with the range that it can give."""
    chain, offset = output_chain(term)
    if term.get("kind") not in RESIDUAL or not chain or chain[0] not in RANGES:
        return None
    return OutputActivation(chain[0], activation_layer(term, offset)), RANGES[chain[0]]


def stretched(term: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Shapes of prediction and residual where every prediction meets every target of the batch or the longest axis."""
    own, wide = tuple(term.get("prediction_shape") or ()), tuple(term.get("residual_shape") or ())
    if not term.get("broadcasts") or not own or not wide or max(own) <= 1:
        return None
    times = math.prod(wide) / math.prod(own)
    return (own, wide) if times > 1 and times in (own[0], max(own)) else None


def activation_layer(term: Mapping[str, Any], index: int) -> str | None:
    """The module of an output activation of a term, by its index in the chain; else the module that feeds the loss."""
    modules = term.get("chain_modules") or []
    if index < len(modules) and modules[index]:
        return str(modules[index])
    return str(term["producer"]) if term.get("producer") is not None else None
