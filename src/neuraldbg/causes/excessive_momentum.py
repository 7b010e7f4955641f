"""The momentum is too high.

## Mechanism
Momentum (or beta1) so close to one that the loss swings or runs away at a learning rate that is otherwise fine.

## What you would see
Loss oscillates with growing swings or runs away, although a step of lr alone is inside the curvature; update norm ≫
lr × gradient norm.

## What rules it out
Update / (lr × gradient) ≈ 1/(1−momentum) and more.

## How it is verified
Train again and momentum 0.9; the failure goes away.

## Remedy
Set the momentum to 0.9.
"""

from collections.abc import Mapping

TITLE = "The momentum is too high"
REMEDY = "Set the momentum to 0.9."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "lower_momentum"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("momentum_extreme",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "momentum_extreme": 0.97,
    "momentum_dominates_updates": 0.6,
    "loss_swings_grow": 0.35,
    "weights_grow": 0.3,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("momentum_extreme",)
