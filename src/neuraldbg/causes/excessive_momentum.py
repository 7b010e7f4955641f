"""The momentum is too high.

## Mechanism
With momentum m a gradient acts on the weights for 1/(1-m) steps: ten at 0.9, a thousand at 0.999. The update no
longer follows the slope under it; the weights swing through the minimum and out on the other side, and where the
swings grow the run is lost.

## What you would see
A momentum (or Adam's beta1) close to one, updates many times larger than learning rate times gradient, a loss that
oscillates with growing swings.

## What rules it out
The momentum is ordinary, or a step of the present gradient alone already overshoots: then the learning rate is too
high with or without momentum.

## How it is verified
Train again with momentum 0.9, at the same learning rate: the swings die down.

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
    "run_learned_well": 0.02,
    "momentum_extreme": 0.97,
    "momentum_dominates_updates": 0.6,
    "loss_swings_grow": 0.35,
    "weights_grow": 0.3,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("momentum_extreme",)
