"""Units are saturated, so little gradient passes.

## Mechanism
The slope of sigmoid and tanh is nearly zero away from the middle, and that of softmax is when one entry takes all. A
layer whose inputs are large sits there for every sample, and hardly any gradient passes through it.

## What you would see
Most units of a sigmoid, tanh or softmax module within a hundredth of their bounds; a few modules at which most of the
gradient is lost; inputs of the nonlinearity with a spread far above one.

## What rules it out
Gradient is lost a little in each of many layers while units are in their middle range: vanishing_depth. If the inputs
of the model, the initial weights or one oversized step brought the units there, that is the root. A gate that is open
or shut, and a confident output, are healthy.

## How it is verified
Train again with smaller inputs of that activation (initialization, normalization, 1/sqrt(d) in attention): gradients
pass and the loss falls.

## Remedy
Scale the pre-activations down (initialization, normalization, 1/sqrt(d) in attention), or use an activation that
does not saturate.
"""

from collections.abc import Mapping

TITLE = "Units are saturated, so little gradient passes"
REMEDY = "Scale the pre-activations down (initialization, normalization, 1/sqrt(d) in attention), or use an activation that does not saturate."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "replace_activation"
FAILURE_TYPES: tuple[str, ...] = ("saturated_activations", "vanishing_gradients")
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("units_saturated_from_start", "units_saturate_later", "softmax_one_hot_from_start")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "initial_weights_extreme": 0.03,
    "run_learned_well": 0.02,
    "units_saturated_from_start": 0.65,
    "nearly_all_units_saturated_from_start": 0.4,
    "units_saturate_later": 0.2,
    "softmax_one_hot_from_start": 0.25,
    "gradient_loss_concentrated": 0.5,
    "inputs_out_of_scale": 0.1,
    "initial_weights_large": 0.15,
    "updates_huge_at_start": 0.1,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("units_saturated_from_start", "units_saturate_later", "softmax_one_hot_from_start")
