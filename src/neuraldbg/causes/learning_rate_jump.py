"""The learning rate rose and the loss broke away.

## Mechanism
A schedule or a param-group change raised the learning rate and the loss followed.

## What you would see
Loss breaks at the step at which a param group's lr rose.

## What rules it out
Lr trace.

## How it is verified
Train again and hold the learning rate at its value before the jump; warm up; the failure goes away.

## Remedy
Lower the peak of the schedule, or warm up more slowly.
"""

from collections.abc import Mapping

TITLE = "The learning rate rose and the loss broke away"
REMEDY = "Lower the peak of the schedule, or warm up more slowly."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "hold_learning_rate"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("learning_rate_jumped", "learning_rate_rose_into_trouble")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "learning_rate_jumped": 0.5,
    "learning_rate_rose_into_trouble": 0.9,
    "loss_left_its_best": 0.8,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("learning_rate_jumped", "learning_rate_rose_into_trouble")
