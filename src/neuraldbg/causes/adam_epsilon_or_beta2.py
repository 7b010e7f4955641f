"""Adam's epsilon or beta2 is out of proportion.

## Mechanism
Adam divides the running mean of the gradient by the square root of its running square, plus epsilon. When epsilon is
larger than that root, it is the divisor, and the step shrinks with the gradient as in plain SGD. When beta2 is far
from its usual range, the divisor lags behind (a large beta2) or follows every batch (a small one), and a single
gradient after a quiet stretch makes a step many times the learning rate.

## What you would see
Either updates far below the learning rate on parameters that have a gradient, with epsilon above the typical
gradient; or a step far above it, right after a stretch of small gradients. In float16 an epsilon of 1e-8 rounds to
zero, and the division by zero gives NaN on parameters without a gradient.

## What rules it out
The optimizer is not of Adam's family, or its epsilon and betas are the usual ones and no step exceeded what they
allow. If updates are small because the learning rate is, the ratio of update to learning rate is ordinary, and
learning_rate_too_low is the cause.

## How it is verified
Train again with epsilon 1e-8 and beta2 between 0.95 and 0.999, all else equal: the steps return to the size of the
learning rate and the failure goes away.

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
    "run_learned_well": 0.02,
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
