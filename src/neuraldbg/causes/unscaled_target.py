"""The targets are out of scale.

## Mechanism
Regression targets are so large (or so small) that the loss and its gradients are out of range for the learning
rate.

## What you would see
Regression targets of magnitude ≫ 1: first loss about the mean square of the target, `d` at the output huge, first
updates carry the last bias away; or targets ≪ 1 and the loss tiny from the start.

## What rules it out
Output and input are ordinary; only the target is out of scale.

## How it is verified
Train again and standardize the targets; the failure goes away.

## Remedy
Standardize the targets, train on them, and scale predictions back.
"""

from collections.abc import Mapping

TITLE = "The targets are out of scale"
REMEDY = "Standardize the targets, train on them, and scale predictions back."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "standardize_targets"
FAILURE_TYPES: tuple[str, ...] = ("data_anomaly", "exploding_gradients")
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("targets_out_of_scale", "targets_tiny")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "targets_out_of_scale": 0.9,
    "targets_tiny": 0.1,
    "inputs_out_of_scale": 0.1,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("targets_out_of_scale", "targets_tiny")
