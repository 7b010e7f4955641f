"""Reset Adam's epsilon and beta2.

## What it changes
In every step epsilon is 1e-8 and beta2 0.999, where they were out of their usual range (epsilon above 1e-6 or below
1e-12, beta2 outside 0.9 to 0.9995). For float16 parameters, in which 1e-8 is zero, epsilon is at least 1e-4.

## Which causes it removes
A denominator of Adam that is out of proportion.

## What it can't do
Nothing, where both are usual: then there was nothing to reset.
"""

from __future__ import annotations

import torch

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("adam_epsilon_or_beta2",)
DO = "epsilon 1e-8, beta2 0.999"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.05
CHANGES_LOSS = False
#: Below this a number is none in float16, or one with few bits left.
_SMALLEST_HALF = 6e-5


def install(lever: Lever) -> None:
    def change(group, optimizer):
        wanted = {}
        epsilon = group.get("eps")
        half = any(parameter.dtype == torch.float16 for parameter in group["params"])
        if isinstance(epsilon, float) and half and epsilon < _SMALLEST_HALF:
            wanted["eps"] = 1e-4
            lever.did(f"epsilon {epsilon:g} → 1e-04, for float16")
        elif isinstance(epsilon, float) and not half and not 1e-12 <= epsilon <= 1e-6:
            wanted["eps"] = 1e-8
            lever.did(f"epsilon {epsilon:g} → 1e-08")
        betas = group.get("betas")
        if betas is not None and len(betas) == 2 and not 0.9 <= betas[1] <= 0.9995:
            wanted["betas"] = (betas[0], 0.999)
            lever.did(f"beta2 {float(betas[1]):g} → 0.999")
        return wanted

    lever.settings(change)
