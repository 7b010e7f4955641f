"""Units start equal and stay equal.

## Mechanism
Zero or constant weights give every unit of a layer the same gradient.

## What you would see
Rows of a weight matrix are equal, and their gradients too, so that they stay equal; or all-zero weights and zero
gradients upstream.

## What rules it out
Zero-initialized last layers of residual branches, LoRA B, zero biases are intended: their gradients differ between
rows and they leave zero.

## How it is verified
Train again and the layer's standard initialization; the failure goes away.

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
    "units_start_equal": 0.93,
    "zero_weights_block_gradient": 0.4,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("units_start_equal", "zero_weights_block_gradient")
