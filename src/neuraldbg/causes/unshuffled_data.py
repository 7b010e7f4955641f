"""Batches are ordered by class or value.

## Mechanism
Batches are ordered by class or by value, so that the model chases each block in turn.

## What you would see
Target marginal differs strongly between consecutive batches and is nearly constant within each; loss is periodic:
falls within a block and jumps at its border; last-layer bias chases the block.

## What rules it out
Per-batch target entropy far below the run's target entropy.

## How it is verified
Train again and shuffle; the failure goes away.

## Remedy
Shuffle: DataLoader(..., shuffle=True), or permute the samples before batching.
"""

from collections.abc import Mapping

TITLE = "Batches are ordered by class or value"
REMEDY = "Shuffle: DataLoader(..., shuffle=True), or permute the samples before batching."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "shuffle_window"
FAILURE_TYPES: tuple[str, ...] = ("data_anomaly",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("batches_ordered_by_target",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "batches_ordered_by_target": 0.97,
    "predictions_chase_batches": 0.5,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("batches_ordered_by_target",)
