"""The schedule took the learning rate to almost zero too early.

## Mechanism
A schedule is written for a number of steps. Called once per batch instead of once per epoch, given the length of one
epoch as its total, or told to watch a metric in the wrong direction, it brings the learning rate to nothing while
there is still much to learn.

## What you would see
The loss falls and then flattens at the step where the learning rate fell to a small part of its peak; gradients are
still there, and updates shrink with the rate.

## What rules it out
The learning rate is constant, or it fell after the loss had flattened. A decay to zero at the end of a run that
learned is what schedules are for.

## How it is verified
Train again with the learning rate held at its value before the collapse: the loss goes on falling.

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
    "run_learned_well": 0.02,
    "learning_rate_collapsed_early": 0.97,
    "loss_fell_then_stopped_early": 0.5,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("learning_rate_collapsed_early",)
