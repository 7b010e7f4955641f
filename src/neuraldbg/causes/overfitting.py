"""The model overfits.

## Mechanism
The network goes on to learn what is particular to the training samples once it has learned what they have in common.
The training loss says that all is well; on other data it gets worse.

## What you would see
The training loss falls, and the loss of forwards without gradient (validation) reaches a lowest point and rises from
there, or stays above training by a good part of what a constant guess reaches. A set of few samples shows in the
inputs: the largest entries of its batches take few values.

## What rules it out
Validation is worse from the very start, or its inputs have other statistics: validation_mismatch. Validation runs in
training mode. The validation loss is flat, not rising. Both losses are next to nothing, whatever their ratio.

## How it is verified
Train again with regularization or more data: the lowest validation loss is lower, or comes later. Stopping at that
point keeps the best weights in any case.

## Remedy
Regularize, stop at the lowest validation loss, or add data.
"""

from collections.abc import Mapping

TITLE = "The model overfits"
REMEDY = "Regularize, stop at the lowest validation loss, or add data."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = None
FAILURE_TYPES: tuple[str, ...] = ()
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("validation_rises_while_training_falls", "training_far_below_validation_at_end")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.8,
    "validation_gap_grows": 0.85,
    "validation_gap_is_wide": 0.9,
    "few_samples_recur": 0.6,
    "validation_rises_while_training_falls": 0.85,
    "training_far_below_validation_at_end": 0.9,
    "validation_inputs_differ": 0.03,
    "validation_in_train_mode": 0.03,
    "validation_worse_from_the_start": 0.2,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("validation_rises_while_training_falls", "training_far_below_validation_at_end")
