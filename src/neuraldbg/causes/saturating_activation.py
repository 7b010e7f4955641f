"""Units are saturated, so little gradient passes.

## Mechanism
Sigmoid, tanh or softmax units sit in their flat region, so little gradient passes.

## What you would see
Most units of sigmoid/tanh/softmax modules are within 1e-2 of their bound, the log-gain of those modules is strongly
negative.

## What rules it out
A few modules hold nearly all of the lost gradient; `z` spread ≫ 1.

## How it is verified
Train again and a non-saturating activation, or a smaller pre-activation scale; the failure goes away.

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
    "units_saturated_from_start": 0.65,
    "units_saturate_later": 0.2,
    "softmax_one_hot_from_start": 0.25,
    "gradient_loss_concentrated": 0.5,
    "inputs_out_of_scale": 0.1,
    "initial_weights_large": 0.15,
    "updates_huge_at_start": 0.1,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("units_saturated_from_start", "units_saturate_later", "softmax_one_hot_from_start")
