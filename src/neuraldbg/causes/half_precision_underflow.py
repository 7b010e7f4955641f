"""Updates or gradients are lost in a 16-bit type.

## Mechanism
Gradients or updates flush to zero in a 16-bit type.

## What you would see
Share of exactly zero gradient entries is high in float16, weights in 16 bit do not move though gradients are non-
zero (update below the spacing of the weight's type).

## What rules it out
Dtype; zero share; `w + u == w`.

## How it is verified
Train again and scale the loss; keep float32 master weights; the failure goes away.

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
    "updates_lost_to_rounding": 0.8,
    "gradients_flush_to_zero": 0.4,
    "weights_in_16_bit": 0.85,
    "adam_epsilon_vanishes_in_half": 0.05,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("updates_lost_to_rounding", "gradients_flush_to_zero")
