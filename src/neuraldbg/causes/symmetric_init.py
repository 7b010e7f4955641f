"""Units start equal and stay equal.

## Mechanism
Units that start with the same weights compute the same output, receive the same gradient and stay the same: a layer
of a hundred units is worth one. With all weights at zero the layer below receives no gradient at all.

## What you would see
Rows of a weight matrix that are equal at the start and stay equal; or weights of zero with gradients of zero before
them.

## What rules it out
Rows differ. Biases at zero, the last layer of a residual branch at zero, and the second matrix of a low-rank adapter
at zero are meant so: their rows have different gradients and part at the first step.

## How it is verified
Train again with random weights in that layer: its units differ and the loss falls further.

## Remedy
Initialize the weights at random; zero only biases and the last layer of a residual branch.
"""

from collections.abc import Mapping

TITLE = "Units start equal and stay equal"
REMEDY = "Initialize the weights at random; zero only biases and the last layer of a residual branch."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "reinitialize_layer"
FAILURE_TYPES: tuple[str, ...] = ("vanishing_gradients",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("units_start_equal", "zero_weights_block_gradient")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.02,
    "units_start_equal": 0.93,
    "zero_weights_block_gradient": 0.4,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("units_start_equal", "zero_weights_block_gradient")
