"""Linear layers follow each other without a nonlinearity.

## Mechanism
The composition of linear layers is linear. However many there are, and however wide, together they can draw one
straight boundary; gradients are healthy and the loss settles where linear regression would.

## What you would see
Two or more linear or convolution layers in a row in the data flow, and a map from input to output that is affine when
checked on values; a loss that levels off while gradients and updates are well.

## What rules it out
A nonlinearity lies between them as a function call. A single linear layer, a low-rank pair or a projection beside
nonlinear layers is meant to be linear.

## How it is verified
Train again with an activation between the layers: the loss falls below the linear model's.

## Remedy
Put an activation between them.
"""

from collections.abc import Mapping

TITLE = "Linear layers follow each other without a nonlinearity"
REMEDY = "Put an activation between them."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = None
FAILURE_TYPES: tuple[str, ...] = ()
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("linear_layers_in_a_row",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.05,
    "linear_layers_in_a_row": 0.99,
    "model_is_linear_throughout": 0.7,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("linear_layers_in_a_row",)
#: A stack of linear layers is one linear map, however its weights start.
DEFINITE = ("model_is_linear_throughout",)
