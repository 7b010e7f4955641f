"""Lower the learning rate.

## What it changes
Every step of every optimizer runs with its learning rate divided by ten; where that is not enough, by a hundred.
Schedules go on as they are, at a tenth.

## Which causes it removes
A learning rate that is too high.

## What it can't do
It also tames other faults that make steps too large (inputs or targets out of scale, a summed loss, large initial
weights), so that a cure by it alone weighs less than a cure by a more specific change.
"""

from __future__ import annotations

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("learning_rate_too_high",)
DO = "divide the learning rate"
STRENGTHS: tuple[float, ...] = (0.1, 0.01)
ALSO_CURES = 0.35
CHANGES_LOSS = False


def install(lever: Lever) -> None:
    def change(group, optimizer):
        if "lr" not in group:
            return {}
        lever.did(f"{type(optimizer).__name__}: learning rate × {lever.strength:g}")
        return {"lr": group["lr"] * lever.strength}

    lever.settings(change)
