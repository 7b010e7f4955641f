"""Updates or gradients are lost in a 16-bit type.

## Mechanism
Numbers of float16 below 6e-8 are zero, and a 16-bit weight cannot take up a change smaller than its own spacing: 1
plus 0.0001 is 1 in float16, and 1 plus 0.003 is 1 in bfloat16. Small gradients vanish, and small updates are lost,
though everything looks right.

## What you would see
A high share of gradient entries that are exactly zero in float16; or weights stored in 16 bits that do not change
although they have gradients, because each update is below the spacing of their values.

## What rules it out
Weights and updates are float32 (autocast computes in 16 bits and keeps them so) and a GradScaler is in use for
float16. If gradients are zero because units are dead, the zeros cover whole units.

## How it is verified
Train again with float32 weights, or with the loss scaled: weights move and the loss falls.

## Remedy
Keep float32 weights and compute under autocast; with float16, scale the loss.
"""

from collections.abc import Mapping

TITLE = "Updates or gradients are lost in a 16-bit type"
REMEDY = "Keep float32 weights and compute under autocast; with float16, scale the loss."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "full_precision"
FAILURE_TYPES: tuple[str, ...] = ("vanishing_gradients",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("updates_lost_to_rounding", "gradients_flush_to_zero")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.02,
    "updates_lost_to_rounding": 0.8,
    "gradients_flush_to_zero": 0.4,
    "weights_in_16_bit": 0.85,
    "adam_epsilon_vanishes_in_half": 0.05,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("updates_lost_to_rounding", "gradients_flush_to_zero")
