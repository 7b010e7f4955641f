"""A value left the range of float16.

## Mechanism
A value left the range of float16 in the forward or the backward pass.

## What you would see
First Inf in a module that computes in float16 (largest finite 65504) with inputs finite; NaN follows; float32 twin
of that op is finite.

## What rules it out
Dtype of the first non-finite op; magnitudes approach 6e4 before it.

## How it is verified
Train again and bfloat16 or float32 for that layer; the failure goes away.

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
    "float16_in_use": 0.99,
    "first_non_finite_in_float16": 0.9,
    "outputs_near_float16_limit": 0.8,
    "loss_non_finite": 0.9,
    "adam_epsilon_vanishes_in_half": 0.02,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("first_non_finite_in_float16", "outputs_near_float16_limit")
