"""Flip the sign of the loss.

## What it changes
Each backward of a negative loss runs on its negative, so that what was maximized is minimized. The loss that the
program prints stays as it is, and both runs are judged by its negative.

## Which causes it removes
A loss with the wrong sign.

## What it can't do
A single term with the wrong sign among others. A loss that may be negative for good reasons (a density's
log-likelihood) is flipped all the same: whether that was right is for the rest of the evidence to say.
"""

from __future__ import annotations

from torch import Tensor

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("loss_sign",)
DO = "flip the sign of the loss"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.3
CHANGES_LOSS = False
#: Runs are judged by minus the loss.
ORIENTATION = -1


def install(lever: Lever) -> None:
    negative = []

    def flipped(tensor):
        if not isinstance(tensor, Tensor) or tensor.numel() != 1:
            return tensor
        if len(negative) < 5:
            negative.append(float(tensor.detach()) < 0)
        if sum(negative) <= len(negative) / 2:
            return tensor
        lever.did("the backward runs on minus the loss")
        return -tensor

    def backward(tensors, proceed):
        if isinstance(tensors, Tensor):
            proceed(flipped(tensors))
        else:
            proceed([flipped(tensor) for tensor in tensors])

    lever.around_backward(backward)
