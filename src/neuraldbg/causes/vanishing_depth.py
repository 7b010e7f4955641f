"""The gradient vanishes over depth.

## Mechanism
A gradient passes back through each layer's slope and weights. If each passes on a half, fifty layers pass on 1e-15,
and the first layers do not learn. Sigmoid passes on a quarter at the most; a recurrent network pays once per time
step.

## What you would see
Gradients that shrink from layer to layer by a similar factor over many layers; first layers whose gradient is a tiny
part of the last ones'; units that are not at their bounds.

## What rules it out
A few modules lose nearly all of the gradient: saturating_activation, or a cut. Weights far below the scale of their
fan-in: init_too_small. Units that are zero on every sample: dying_relu. A short stack cannot lose much in this way.

## How it is verified
Train again with residual connections or normalization: gradients of first and last layers are of one size.

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
    "run_learned_well": 0.02,
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
