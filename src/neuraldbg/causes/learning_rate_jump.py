"""The learning rate rose and the loss broke away.

## Mechanism
A learning rate that was right becomes too high when a schedule raises it: a warm-up that has no ceiling, a step
factor of 10 instead of 0.1, a restart, a second parameter group.

## What you would see
The loss breaks away at, or a few steps after, the step at which the learning rate of a group rose.

## What rules it out
The rate is constant, or the trouble came first. A rise during warm-up that the loss follows downwards is healthy.
Trouble from the very first step is learning_rate_too_high.

## How it is verified
Train again with the rate held at its value before the rise: the loss goes on falling.

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
    "run_learned_well": 0.02,
    "learning_rate_jumped": 0.5,
    "learning_rate_rose_into_trouble": 0.9,
    "loss_left_its_best": 0.8,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("learning_rate_jumped", "learning_rate_rose_into_trouble")
