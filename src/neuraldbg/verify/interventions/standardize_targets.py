"""Standardize the targets.

## What it changes
Targets of the library's regression losses (squared, absolute, Huber) that are out of scale are brought to mean 0 and
spread 1 with the statistics of the first batches.

## Which causes it removes
Regression targets that are out of scale.

## What it can't do
A loss that is written by hand shows no target. The loss is compared in the target's own unit: what the program computes
is multiplied by the variance (squared losses) or the spread (absolute ones).
"""

from __future__ import annotations

import torch.nn.functional
from torch import Tensor

from neuraldbg.verify._lever import Lever
from neuraldbg.verify.interventions.standardize_inputs import Scale

CAUSES: tuple[str, ...] = ("unscaled_target",)
DO = "standardize the targets"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.05
CHANGES_LOSS = False
_SQUARED = ("mse_loss",)
LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def install(lever: Lever) -> None:
    scales: dict[str, Scale] = {}

    def make_for(name):
        def make(original):
            def loss(input, target, *arguments, **keywords):
                if isinstance(target, Tensor) and target.is_floating_point() and not target.requires_grad:
                    scale = scales.setdefault(name, Scale())
                    if target.dim():
                        changed = scale.apply(target, learn=torch.is_grad_enabled())
                        if changed is not target:
                            lever.did("targets standardized")
                            lever.unit = scale.spread**2 if name in _SQUARED else scale.spread
                        target = changed
                return original(input, target, *arguments, **keywords)

            return loss

        return make

    for name in LOSSES:
        lever.replace(torch.nn.functional, name, make_for(name))
