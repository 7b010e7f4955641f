"""Adam's epsilon or beta2 is out of proportion.

## Mechanism
Adam's denominator is out of proportion: epsilon swamps it, or it goes stale and one gradient makes a huge step.

## What you would see
Update ≪ lr (epsilon ≫ sqrt of the second moment), or a spike right after a long quiet stretch with a stale second
moment: update ≫ lr.

## What rules it out
Adam state.

## How it is verified
Train again and epsilon 1e-8, beta2 0.95 to 0.999; the failure goes away.

## Remedy
Use epsilon 1e-8 (1e-4 in float16) and beta2 between 0.95 and 0.999.
"""

from collections.abc import Mapping

TITLE = "Adam's epsilon or beta2 is out of proportion"
REMEDY = "Use epsilon 1e-8 (1e-4 in float16) and beta2 between 0.95 and 0.999."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "reset_adam"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = (
    "adam_epsilon_swamps",
    "adam_step_oversized",
    "adam_beta2_unusual",
    "adam_epsilon_unusual",
    "adam_epsilon_vanishes_in_half",
)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "adam_epsilon_swamps": 0.45,
    "adam_step_oversized": 0.3,
    "adam_beta2_unusual": 0.4,
    "adam_epsilon_unusual": 0.45,
    "adam_epsilon_vanishes_in_half": 0.12,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = (
    "adam_epsilon_swamps",
    "adam_step_oversized",
    "adam_beta2_unusual",
    "adam_epsilon_unusual",
    "adam_epsilon_vanishes_in_half",
)
