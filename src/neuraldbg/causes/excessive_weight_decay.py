"""Weight decay outweighs the gradient.

## Mechanism
Decay outweighs the gradient and drives weights to zero.

## What you would see
Weight norms decay exponentially everywhere, decay term ≫ gradient term in the update, loss goes to the constant
predictor.

## What rules it out
Ratio (weight decay × ‖w‖) / ‖g‖.

## How it is verified
Train again and divide the weight decay by 100; the failure goes away.

## Remedy
Divide the weight decay by 100.
"""

from collections.abc import Mapping

TITLE = "Weight decay outweighs the gradient"
REMEDY = "Divide the weight decay by 100."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "lower_weight_decay"
FAILURE_TYPES: tuple[str, ...] = ("vanishing_gradients", "optimizer_instability")
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("weight_decay_dominates", "weights_shrink")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "weight_decay_dominates": 0.9,
    "weights_shrink": 0.9,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("weight_decay_dominates", "weights_shrink")
