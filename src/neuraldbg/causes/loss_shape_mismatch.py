"""Prediction and target broadcast against each other.

## Mechanism
A prediction of shape (N, 1) against a target of shape (N,) broadcasts to (N, N): every prediction is compared with
every target. The gradient then pulls all predictions to the mean target, and the loss cannot fall below the targets'
variance.

## What you would see
Prediction and target of unequal shapes at the loss, an expansion inside its graph, a loss that settles at the
variance of the target, predictions that are all alike.

## What rules it out
The shapes are equal, or the broadcast is meant (a weight per class, a mask over the last dimension).

## How it is verified
Train again with both in the same shape: the loss falls below the targets' variance.

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
    "run_learned_well": 0.08,
    "shapes_broadcast_in_loss": 0.97,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("shapes_broadcast_in_loss",)
#: A fault of the program whatever the numbers do: named before a setting that is judged by them.
DEFINITE = True
