"""The initial weights are too small.

## Mechanism
Weights far below one over the square root of the fan-in shrink the signal at every layer. A few layers later all
samples look the same, and gradients, which pass through the same weights, have shrunk as well.

## What you would see
At the first step: activations that fall towards zero layer by layer, gradients that do so in the other direction, a
first loss that is exactly the uniform guess's and stays there.

## What rules it out
Weights are ordinary for their fan-in. A last layer or a residual branch that starts at zero on purpose has gradients
from the first step and moves away from zero. Gradients that shrink a little in each of many layers at ordinary
weights are vanishing_depth.

## How it is verified
Train again with the layer's standard initialization: activations keep their scale and the loss falls.

## Remedy
Use the standard initialization of the layer, scaled by its fan-in.
"""

from collections.abc import Mapping

TITLE = "The initial weights are too small"
REMEDY = "Use the standard initialization of the layer, scaled by its fan-in."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "reinitialize_layer"
FAILURE_TYPES: tuple[str, ...] = ("vanishing_gradients",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("initial_weights_small", "a_layer_starts_small")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.02,
    "initial_weights_small": 0.85,
    "a_layer_starts_small": 0.5,
    "signal_dies_over_depth": 0.65,
    "loss_never_moved": 0.6,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("initial_weights_small", "a_layer_starts_small")
