"""Lower the weight decay.

## What it changes
Every step of every optimizer runs with its weight decay divided by a hundred.

## Which causes it removes
Weight decay that outweighs the gradient.

## What it can't do
A penalty that is a term of the loss.
"""

from __future__ import annotations

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("excessive_weight_decay",)
DO = "divide the weight decay by 100"
STRENGTHS: tuple[float, ...] = (0.01,)
ALSO_CURES = 0.05
CHANGES_LOSS = False


def install(lever: Lever) -> None:
    def change(group, optimizer):
        decay = group.get("weight_decay") or 0
        if not decay:
            return {}
        lever.did(f"{type(optimizer).__name__}: weight decay {float(decay):g} → {float(decay) * lever.strength:g}")
        return {"weight_decay": decay * lever.strength}

    lever.settings(change)
