"""No optimizer step is ever taken.

## Mechanism
Gradients are computed and no step is ever taken.

## What you would see
Backward after backward, no step; weights unchanged.

## What rules it out
No optimizer step seen; or steps of an optimizer that holds none of the parameters with gradients.

## How it is verified
Train again and step after each backward pass; the failure goes away.

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
REQUIRES: tuple[str, ...] = ("no_optimizer_step", "all_steps_skipped")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "no_optimizer_step": 0.95,
    "all_steps_skipped": 0.05,
    "loss_never_moved": 0.9,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("no_optimizer_step", "all_steps_skipped")
