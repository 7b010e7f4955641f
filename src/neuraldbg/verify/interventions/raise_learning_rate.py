"""Raise the learning rate.

## What it changes
Every step of every optimizer runs with its learning rate multiplied by ten; where that is not
enough, by a hundred, a thousand, ten thousand.

## Which causes it removes
A learning rate that is too low.

## What it can't do
It also helps against gradients that are small for another reason, tiny initial weights for instance.
"""

from __future__ import annotations

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("learning_rate_too_low",)
DO = "multiply the learning rate"
STRENGTHS: tuple[float, ...] = (10.0, 100.0, 1000.0, 10_000.0)
ALSO_CURES = 0.25
CHANGES_LOSS = False


def install(lever: Lever) -> None:
    def change(group, optimizer):
        if "lr" not in group:
            return {}
        lever.did(f"{type(optimizer).__name__}: learning rate × {lever.strength:g}")
        return {"lr": group["lr"] * lever.strength}

    lever.settings(change)
