"""Lower the momentum.

## What it changes
Momentum, and Adam's first beta, are at most 0.9 in every step.

## Which causes it removes
Momentum so close to one that the loss swings or runs away.

## What it can't do
The effective step shrinks along with the momentum, as it does with the learning rate; so a learning rate that is too
high by a little goes quiet under it as well.
"""

from __future__ import annotations

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("excessive_momentum",)
DO = "momentum 0.9"
STRENGTHS: tuple[float, ...] = (0.9,)
ALSO_CURES = 0.12
CHANGES_LOSS = False


def install(lever: Lever) -> None:
    def change(group, optimizer):
        wanted = {}
        momentum = group.get("momentum") or 0
        if momentum > lever.strength + 1e-6:
            wanted["momentum"] = lever.strength
            lever.did(f"momentum {float(momentum):g} → {lever.strength:g}")
        betas = group.get("betas")
        if betas is not None and betas[0] > lever.strength + 1e-6:
            wanted["betas"] = (lever.strength, *betas[1:])
            lever.did(f"beta1 {float(betas[0]):g} → {lever.strength:g}")
        return wanted

    lever.settings(change)
