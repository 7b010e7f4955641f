"""The schedule took the learning rate to almost zero too early.

## Mechanism
A schedule took the learning rate to (nearly) zero while the loss was still falling.

## What you would see
Loss flattens at the step at which lr fell to almost nothing, gradient still there.

## What rules it out
Lr trace; `u/w` falls with lr.

## How it is verified
Train again and hold the learning rate at its value before the collapse; the failure goes away.

## Remedy
Step the scheduler once per epoch, or stretch its length to the length of the run.
"""

from collections.abc import Mapping

TITLE = "The schedule took the learning rate to almost zero too early"
REMEDY = "Step the scheduler once per epoch, or stretch its length to the length of the run."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "hold_learning_rate"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("learning_rate_collapsed_early",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "learning_rate_collapsed_early": 0.97,
    "loss_fell_then_stopped_early": 0.5,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("learning_rate_collapsed_early",)
