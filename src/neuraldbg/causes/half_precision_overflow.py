"""A value left the range of float16.

## Mechanism
The largest number of float16 is 65504. A sum of squares, an attention score, a scaled gradient above it becomes
infinity, and infinity minus infinity, or times zero, becomes NaN.

## What you would see
The first infinite value of the run appears in an operation that computes in float16, with finite inputs; values close
to 6e4 before it in the same place.

## What rules it out
Nothing computes in float16 (bfloat16 has the range of float32). The first few steps that a GradScaler skips are its
search for a factor, not a failure. If a batch carried the first infinity, the cause is the data.

## How it is verified
Compute the same operation in float32 on the same inputs: it is finite. Train again with that layer in bfloat16 or
float32: no infinity appears.

## Remedy
Run that layer in bfloat16 or float32.
"""

from collections.abc import Mapping

TITLE = "A value left the range of float16"
REMEDY = "Run that layer in bfloat16 or float32."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "full_precision"
FAILURE_TYPES: tuple[str, ...] = ("exploding_gradients",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("first_non_finite_in_float16", "outputs_near_float16_limit")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.02,
    "float16_in_use": 0.99,
    "first_non_finite_in_float16": 0.9,
    "outputs_near_float16_limit": 0.8,
    "loss_non_finite": 0.9,
    "adam_epsilon_vanishes_in_half": 0.02,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("first_non_finite_in_float16", "outputs_near_float16_limit")
