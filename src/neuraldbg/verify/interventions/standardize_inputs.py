"""Standardize the inputs.

## What it changes
Floating-point inputs of the model that are out of scale are brought to mean 0 and spread 1, per feature (per channel of
images), with the statistics of the first batches, in training and in validation. Inputs of an ordinary scale are left,
and so are those that say where something is (masks, adjacency, one-hot rows): many exact zeros, and the rest up to one.

## Which causes it removes
Inputs that are not normalized.

## What it can't do
Integer inputs (indices) have no scale. A feature without variation stays at zero.
"""

from __future__ import annotations

import torch

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("unnormalized_input",)
DO = "standardize the inputs"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.05
CHANGES_LOSS = False
#: Ordinary inputs: spread within a factor of five of one, mean within three spreads, features alike within tenfold.
_SPREAD, _MEAN, _UNLIKE = 5.0, 3.0, 10.0
#: Numbers between zero and one, of which so many are exactly zero and the largest is no less, are indicators.
_ZEROS, _LARGEST = 0.25, 0.1
#: Batches whose statistics are collected; then they are fixed.
_BATCHES = 8


class Scale:
    """Statistics of one input over its first batches."""

    def __init__(self) -> None:
        self.count = 0
        self.batches = 0
        self.sum = self.squares = None
        self.out_of_scale = None

    @property
    def spread(self) -> float:
        """Root mean variance over the features that vary."""
        variance = (self.squares / self.count - (self.sum / self.count).square()).clamp_min(0)
        varying = variance[variance > 0]
        return float(varying.mean().sqrt()) if varying.numel() else 1.0

    def apply(self, tensor: torch.Tensor, learn: bool) -> torch.Tensor:
        dimensions = [d for d in range(tensor.dim()) if d != (1 if tensor.dim() == 4 else tensor.dim() - 1) or d == 0]
        values = tensor.detach().double()
        if learn and self.batches < _BATCHES and bool(torch.isfinite(values).all()):
            total, squares = values.sum(dimensions, keepdim=True), values.square().sum(dimensions, keepdim=True)
            if self.sum is None or self.sum.shape == total.shape:
                self.sum = total if self.sum is None else self.sum + total
                self.squares = squares if self.squares is None else self.squares + squares
                self.count += values.numel() // max(1, total.numel())
                self.batches += 1
        if self.sum is None or tensor.dim() != self.sum.dim():
            return tensor
        mean = self.sum / self.count
        deviation = (self.squares / self.count - mean.square()).clamp_min(0).sqrt()
        if self.out_of_scale is None and _indicates(values):
            self.out_of_scale = False
        if self.out_of_scale is None:
            varying = deviation[deviation > 1e-8 * mean.abs().max().clamp_min(1e-30)]
            if not varying.numel():
                return tensor
            wide = float(varying.max()), float(varying.median())
            self.out_of_scale = (
                wide[0] > _SPREAD
                or wide[0] < 1 / _SPREAD
                or bool((mean.abs() > _MEAN * deviation.clamp_min(1 / _SPREAD)).any())
                or wide[0] > _UNLIKE * wide[1]
            )
        if not self.out_of_scale:
            return tensor
        safe = torch.where(deviation > 1e-8 * mean.abs().clamp_min(1e-30), deviation, torch.ones_like(deviation))
        return ((values - mean) / safe).to(tensor.dtype)


def _indicates(values: torch.Tensor) -> bool:
    """Whether numbers say where something is, or how much of a whole: their zeros have to stay zeros."""
    if not values.numel():
        return False
    inside = float(values.min()) >= 0 and _LARGEST <= float(values.max()) <= 1
    return inside and float((values == 0).double().mean()) >= _ZEROS


def install(lever: Lever) -> None:
    scales: dict[object, Scale] = {}

    def around(call):
        if call.is_root:

            def change(key, tensor):
                if not tensor.is_floating_point() or tensor.grad_fn is not None or tensor.dim() < 1:
                    return tensor
                scale = scales.setdefault((id(call.module), key), Scale())
                changed = scale.apply(tensor, learn=torch.is_grad_enabled())
                if changed is not tensor:
                    lever.did("inputs standardized")
                return changed

            call.change_tensors(change)
        return call.proceed()

    lever.around_calls(around)
