"""Linear layers follow each other without a nonlinearity.

## Mechanism
Linear layers follow each other with no nonlinearity between, so that the stack can only be linear and underfits.

## What you would see
Two or more linear or convolution layers in a row, and the map from input to output is affine (checked on values);
loss stays at what a linear model reaches while gradients are well.

## What rules it out
Structure and values; a deliberate linear model (one layer, or a linear bottleneck beside nonlinear ones) is none.

## How it is verified
Train again and an activation between them; the failure goes away.

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
    "linear_layers_in_a_row": 0.99,
    "model_is_linear_throughout": 0.7,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("linear_layers_in_a_row",)
