"""Gradients are never cleared.

## Mechanism
Gradients are never cleared, so each step applies the sum of all gradients so far.

## What you would see
Gradients are non-zero when a backward begins after a step; `‖g‖` grows about linearly with steps.

## What rules it out
Micro-batch accumulation clears every k steps with a step per k backwards: no alarm.

## How it is verified
Train again and clear gradients before each backward pass; the failure goes away.

## Remedy
Call optimizer.zero_grad() before each backward pass.
"""

from collections.abc import Mapping

TITLE = "Gradients are never cleared"
REMEDY = "Call optimizer.zero_grad() before each backward pass."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "clear_gradients"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability", "exploding_gradients")
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("gradients_not_cleared", "gradients_sometimes_cleared")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "gradients_not_cleared": 0.95,
    "gradients_sometimes_cleared": 0.05,
    "gradients_parallel": 0.7,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("gradients_not_cleared", "gradients_sometimes_cleared")
