"""Average the loss where it is summed.

## What it changes
Each backward runs on the loss divided by the number of elements that it is a sum of, and by constants that it was
multiplied with, read from the graph of that very loss. Gradients that are summed over four or more backwards are
divided by their number where the loss was not. The loss that the program prints stays as it is.

## Which causes it removes
A loss that is summed, or multiplied, where it should be averaged.

## What it can't do
A constant that lies inside of a term.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("loss_scale",)
DO = "average the loss"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.12
CHANGES_LOSS = False
#: Factors below this are weights of a term, not a scale that matters.
_MATTERS = 4.0


def factor(tensor: Tensor) -> float:
    """By how much a loss is larger than the mean that it could be."""
    return _factor(tensor.grad_fn, 0)


def _factor(node: object, depth: int) -> float:
    if node is None or depth > 12:
        return 1.0
    name = node.name()
    below = [child for child, _ in node.next_functions if child is not None]
    if name.startswith("SumBackward"):
        sizes = getattr(node, "_saved_self_sym_sizes", None) or getattr(node, "_saved_self_sizes", ())
        # One class of each row is left of a sum over log-probabilities: rows are what counts.
        return float(math.prod(int(size) for size in sizes)) if sizes else 1.0
    if getattr(node, "_saved_reduction", None) == 2:
        target = getattr(node, "_saved_target", None)
        return float(target.numel()) if target is not None else 1.0
    if name.startswith(("MulBackward", "DivBackward")):
        other = getattr(node, "_saved_other", None)
        scalar = None
        if isinstance(other, Tensor) and other.numel() == 1 and not other.requires_grad:
            scalar = abs(float(other))
        deeper = _factor(below[0], depth + 1) if below else 1.0
        if scalar is None or scalar == 0:
            return deeper
        return deeper * scalar if name.startswith("Mul") else deeper / scalar
    if name.startswith(("AddBackward", "SubBackward")):
        return max((_factor(child, depth + 1) for child in below), default=1.0)
    if name.startswith(("NegBackward", "ViewBackward", "SqueezeBackward", "ToCopyBackward", "CloneBackward")):
        return _factor(below[0], depth + 1) if below else 1.0
    return 1.0


def install(lever: Lever) -> None:
    # The factor of a loss scaler is no part of the loss.
    scale = [1.0]

    def scaled(original):
        def method(scaler, outputs):
            result = original(scaler, outputs)
            scale[0] = float(scaler.get_scale()) if scaler.is_enabled() else 1.0
            return result

        return method

    #: Factors of the losses since the last step.
    backwards: list[float] = []

    def before(optimizer):
        count = len(backwards)
        # A loss that was divided for the accumulation has a factor below one.
        if count >= _MATTERS and min(backwards) > 0.5:
            for gradient in lever.gradients(optimizer):
                gradient.div_(count)
            lever.did(f"gradients summed over {count} backwards divided by their number")

    def averaged(tensor):
        if not isinstance(tensor, Tensor) or tensor.numel() != 1:
            return tensor
        times = factor(tensor) / scale[0]
        backwards.append(times)
        if times < _MATTERS:
            return tensor
        lever.did(f"the backward runs on the loss divided by {times:g}")
        return tensor / times

    def backward(tensors, proceed):
        if isinstance(tensors, Tensor):
            proceed(averaged(tensors))
        else:
            proceed([averaged(tensor) for tensor in tensors])

    lever.replace(torch.amp.GradScaler, "scale", scaled)
    lever.around_backward(backward)
    lever.before_step(before)
    lever.after_step(lambda optimizer: backwards.clear())
