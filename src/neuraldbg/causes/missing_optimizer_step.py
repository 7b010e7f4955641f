"""No optimizer step is ever taken.

## Mechanism
loss.backward() computes gradients and changes no weight. Where optimizer.step() is missing, stands behind a condition
that is never true, or is skipped by a loss scaler each time, nothing is learned.

## What you would see
Backward after backward and no step; weights that are bit for bit those of the start; a loss that varies with the
batches alone.

## What rules it out
Steps are taken, and the weights change. Steps are taken by an optimizer that holds other parameters:
parameters_not_in_optimizer.

## How it is verified
Train again with a step after each backward: the weights change and the loss falls.

## Remedy
Call optimizer.step() after each backward pass; check the condition around it.
"""

from collections.abc import Mapping

TITLE = "No optimizer step is ever taken"
REMEDY = "Call optimizer.step() after each backward pass; check the condition around it."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "step_after_backward"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("no_optimizer_step", "all_steps_skipped", "gradients_cleared_before_step")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.02,
    "no_optimizer_step": 0.95,
    "all_steps_skipped": 0.05,
    "gradients_cleared_before_step": 0.05,
    "loss_never_moved": 0.9,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("no_optimizer_step", "all_steps_skipped", "gradients_cleared_before_step")
#: A fault of the program whatever the numbers do: named before a setting that is judged by them.
DEFINITE = True
