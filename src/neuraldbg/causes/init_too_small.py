"""The initial weights are too small.

## Mechanism
Initial weights are so small that the signal dies on its way.

## What you would see
At step 0 activations shrink layer by layer to nothing and so do gradients; first loss exactly at the uniform guess
and stays.

## What rules it out
Weight spread ≪ 1/sqrt(fan-in).

## How it is verified
Train again and the layer's standard initialization; the failure goes away.

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
    "initial_weights_small": 0.85,
    "a_layer_starts_small": 0.5,
    "signal_dies_over_depth": 0.65,
    "loss_never_moved": 0.6,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("initial_weights_small", "a_layer_starts_small")
