"""The inputs are not normalized.

## Mechanism
Inputs are far from zero mean and unit scale, or their features differ by orders of magnitude.

## What you would see
Input mean or spread far from 0 and 1, or per-feature spreads that differ by 1e2 and more; first layer's `g` and `a`
dominate; saturated first nonlinearity or huge first loss.

## What rules it out
With standardized input the same weights give ordinary activations (the first layer's forward gain is ordinary: its
input is what is large), whereas init_too_large has an extreme gain on ordinary input.

## How it is verified
Train again and standardize the inputs; the failure goes away.

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
