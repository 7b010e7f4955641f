"""Gradients are never cleared.

## Mechanism
PyTorch adds each backward's gradient to what is in .grad already. Unless it is cleared, each step moves along the sum
of all gradients since the start, old ones included: a momentum of one, with growing steps.

## What you would see
Gradients that are not zero when the first backward after a step begins; gradient norms that grow with the number of
steps; successive gradients that are nearly parallel.

## What rules it out
Gradients are cleared every k backwards with one step per k: that is accumulation, and is meant. They are cleared by
setting them to None: that counts.

## How it is verified
Train again with optimizer.zero_grad() before each backward: gradient norms no longer grow.

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
    "run_learned_well": 0.1,
    "gradients_not_cleared": 0.95,
    "gradients_sometimes_cleared": 0.05,
    "gradients_parallel": 0.7,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("gradients_not_cleared", "gradients_sometimes_cleared")
#: A fault of the program whatever the numbers do: named before a setting that is judged by them.
DEFINITE = True
