"""Give prediction and target one shape.

## What it changes
Where a library loss, or a difference written by hand, gets a prediction of shape (N, 1) and a target of shape (N,), or
any two shapes with equally many elements that would broadcast, the target takes the prediction's shape.

## Which causes it removes
Prediction and target that broadcast against each other.

## What it can't do
Shapes with different numbers of elements, which may be meant.
"""

from __future__ import annotations

import torch.nn.functional
from torch import Tensor

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("loss_shape_mismatch",)
DO = "give prediction and target one shape"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.02
CHANGES_LOSS = True
LOSSES = (
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits", "binary_cross_entropy",
)  # fmt: skip


def install(lever: Lever) -> None:
    def aligned(prediction, target):
        if (
            isinstance(prediction, Tensor)
            and isinstance(target, Tensor)
            and prediction.shape != target.shape
            and prediction.numel() == target.numel() > 1
        ):
            lever.did(f"target of shape {tuple(target.shape)} read as {tuple(prediction.shape)}")
            return target.reshape(prediction.shape)
        return target

    def make(original):
        def loss(input, target, *arguments, **keywords):
            return original(input, aligned(input, target), *arguments, **keywords)

        return loss

    def difference(original):
        def subtract(left, right, *arguments, **keywords):
            if isinstance(left, Tensor) and isinstance(right, Tensor) and left.shape != right.shape:
                if left.requires_grad and not right.requires_grad:
                    right = aligned(left, right)
                elif right.requires_grad and not left.requires_grad:
                    left = aligned(right, left)
            return original(left, right, *arguments, **keywords)

        return subtract

    for name in LOSSES:
        lever.replace(torch.nn.functional, name, make)
    for name in ("__sub__", "__rsub__", "sub"):
        lever.replace(Tensor, name, difference)
    lever.replace(torch, "sub", difference)
