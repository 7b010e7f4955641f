"""Prediction and target broadcast against each other.

## Mechanism
Prediction and target shapes differ and broadcast against each other.

## What you would see
Prediction and target of unequal shapes broadcast (N,1) against (N,): loss input is (N,N); loss goes to the target's
variance; all predictions converge on the mean.

## What rules it out
Shapes at the loss node (an expand in its graph); torch warns for mse_loss, not for hand-written losses.

## How it is verified
Train again and give both the same shape; the failure goes away.

## Remedy
Give both the same shape: prediction.squeeze(-1) or target.unsqueeze(-1).
"""

from collections.abc import Mapping

TITLE = "Prediction and target broadcast against each other"
REMEDY = "Give both the same shape: prediction.squeeze(-1) or target.unsqueeze(-1)."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "reshape_target"
FAILURE_TYPES: tuple[str, ...] = ()
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("shapes_broadcast_in_loss",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "shapes_broadcast_in_loss": 0.97,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("shapes_broadcast_in_loss",)
