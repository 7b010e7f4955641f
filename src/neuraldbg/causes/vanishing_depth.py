"""The gradient vanishes over depth.

## Mechanism
Each layer of a deep or recurrent stack shrinks the gradient a little, and the product is nothing.

## What you would see
Log-gain mildly negative in every one of many modules (or time steps), first layer's gradient ≪ last layer's; units
not at their bounds (sigmoid's slope alone is at most 0.25).

## What rules it out
Loss of gradient is spread evenly over depth.

## How it is verified
Train again and residual connections or normalization; the failure goes away.

## Remedy
Add residual connections or normalization, or use an activation of slope 1 with its initialization.
"""

from collections.abc import Mapping

TITLE = "The gradient vanishes over depth"
REMEDY = "Add residual connections or normalization, or use an activation of slope 1 with its initialization."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "normalize_layer"
FAILURE_TYPES: tuple[str, ...] = ("vanishing_gradients",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = (
    "gradient_vanishes_over_depth",
    "gradient_shrinks_over_depth",
    "gradient_loss_spread_evenly",
    "gradient_vanishes_over_time",
)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "gradient_vanishes_over_depth": 0.6,
    "gradient_shrinks_over_depth": 0.9,
    "gradient_loss_spread_evenly": 0.75,
    "stack_is_deep": 0.95,
    "gradient_vanishes_over_time": 0.2,
    "units_saturated_from_start": 0.04,
    "initial_weights_small": 0.05,
    "units_dead_from_start": 0.03,
    "weight_decay_dominates": 0.03,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = (
    "gradient_vanishes_over_time",
    "gradient_loss_spread_evenly",
    "gradient_vanishes_over_depth",
    "gradient_shrinks_over_depth",
)
