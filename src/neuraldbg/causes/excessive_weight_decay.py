"""Weight decay outweighs the gradient.

## Mechanism
Weight decay takes the same share off every weight at each step. When that is more than the gradient puts back,
weights shrink exponentially towards zero, the network's outputs with them, and it ends as a constant predictor.

## What you would see
Weight norms that fall steadily in all layers; a decay term (weight decay times weight norm) larger than the gradient;
a loss that rises or settles at the constant predictor's level.

## What rules it out
Weights keep their norm or grow, or the decay is small beside the gradient. Decay in a run that learns well is
harmless, however large the number looks.

## How it is verified
Train again with the weight decay divided by 100: norms stop falling, and the loss falls instead.

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
    "run_learned_well": 0.02,
    "weight_decay_dominates": 0.9,
    "weights_shrink": 0.9,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("weight_decay_dominates", "weights_shrink")
