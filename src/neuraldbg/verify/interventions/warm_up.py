"""Warm the learning rate up.

## What it changes
Over the first tenth of the run, at least 20 rounds, the learning rate grows linearly from nothing to what the program
sets; afterwards it is the program's.

## Which causes it removes
A learning rate that is too high only at the start, a jump at the start among them.

## What it can't do
A learning rate that is too high for the whole run fails later instead.
"""

from __future__ import annotations

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("learning_rate_too_high", "learning_rate_jump")
DO = "warm the learning rate up"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.2
CHANGES_LOSS = False


def install(lever: Lever) -> None:
    lever.count_steps()
    length = max(20, lever.target.steps // 10)

    def change(group, optimizer):
        if "lr" not in group or lever.step >= length:
            return {}
        lever.did(f"{type(optimizer).__name__}: learning rate rises over {length} rounds")
        return {"lr": group["lr"] * ((lever.step + 1) / length)}

    lever.settings(change)
