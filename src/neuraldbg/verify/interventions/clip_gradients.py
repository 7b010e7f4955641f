"""Clip the gradient norm.

## What it changes
Before each step the norm of all gradients of the optimizer together is limited to twice its median so far, so that
ordinary gradients pass as they are and spikes do not; where that is not enough, to one.

## Which causes it removes
Gradients that spike and carry the weights away for want of clipping.

## What it can't do
A gradient that is not finite has no direction that clipping could keep; it is left as it is.
"""

from __future__ import annotations

import statistics
from collections import defaultdict

import torch

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("missing_gradient_clipping",)
DO = "clip the gradient norm"
#: Limit in medians; 0 stands for the absolute limit of one, the usual choice.
STRENGTHS: tuple[float, ...] = (2.0, 0.0)
ALSO_CURES = 0.2
CHANGES_LOSS = False
#: Norms before a median means anything.
_ENOUGH = 5


def install(lever: Lever) -> None:
    past: dict[int, list[float]] = defaultdict(list)

    def clip(optimizer):
        gradients = [gradient for gradient in lever.gradients(optimizer) if not gradient.is_sparse]
        if not gradients:
            return
        norm = float(torch.stack([gradient.detach().float().norm() for gradient in gradients]).norm())
        norms = past[id(optimizer)]
        limit = 1.0
        if lever.strength:
            if len(norms) < _ENOUGH:
                norms.append(norm)
                return
            limit = lever.strength * statistics.median(norms)
        if norm < float("inf"):
            norms.append(min(norm, limit))
        if limit < norm < float("inf"):
            for gradient in gradients:
                gradient.mul_(limit / norm)
            lever.did(
                "gradients clipped"
                + (f" at {lever.strength:g} times their median norm" if lever.strength else " at norm 1")
            )

    lever.before_step(clip)
