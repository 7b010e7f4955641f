"""The inputs are not normalized.

## Mechanism
Initializations and learning rates assume inputs around zero with a spread around one. Inputs in the hundreds multiply
the first layer's outputs and gradients by as much; features of unequal scale make one of them steer the model and
hide the others.

## What you would see
An input mean or spread far from 0 and 1, or spreads that differ between features by a hundred and more; a first layer
that dominates gradients and activations; saturated units or a huge first loss.

## What rules it out
The input is ordinary and the first layer's gain is what is extreme: init_too_large. A norm stands before the first
layer. Token ids and one-hot columns are not measured by this rule.

## How it is verified
Standardize the inputs and train again: with the same weights the first activations are ordinary and the loss falls.

## Remedy
Standardize the inputs, each feature to mean 0 and spread 1 by the statistics of the training set.
"""

from collections.abc import Mapping

TITLE = "The inputs are not normalized"
REMEDY = "Standardize the inputs, each feature to mean 0 and spread 1 by the statistics of the training set."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "standardize_inputs"
FAILURE_TYPES: tuple[str, ...] = ("data_anomaly", "saturated_activations")
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("inputs_out_of_scale", "inputs_far_off_scale", "features_of_unequal_scale", "inputs_tiny")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.02,
    "inputs_out_of_scale": 0.85,
    "inputs_far_off_scale": 0.5,
    "features_of_unequal_scale": 0.35,
    "inputs_tiny": 0.06,
    "first_loss_huge": 0.4,
    "input_level_shifted": 0.05,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = (
    "inputs_out_of_scale",
    "inputs_far_off_scale",
    "features_of_unequal_scale",
    "inputs_tiny",
)
