"""Batches are ordered by class or value.

## Mechanism
Gradient steps assume that a batch resembles the data. When the file is sorted by class or by value, each block of
batches teaches one answer, and the next block teaches another.

## What you would see
Targets that are nearly constant within a batch and differ between consecutive ones; a loss that falls within a block
and jumps at its end; a last layer that follows the blocks.

## What rules it out
Targets are as mixed within a batch as over the run. A rare class that is missing from small batches is chance, and
not order.

## How it is verified
Train again with shuffling: the jumps go away.

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
    "run_learned_well": 0.4,
    "batches_ordered_by_target": 0.97,
    "predictions_chase_batches": 0.5,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("batches_ordered_by_target",)
