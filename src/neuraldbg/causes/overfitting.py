"""The model overfits.

## Mechanism
Training loss falls while validation loss rises.

## What you would see
Training loss falls, loss of forwards without gradient (validation) rises from some step on.

## What rules it out
Two loss streams: with and without grad.

## How it is verified
Train again and regularize, stop earlier, or add data; the failure goes away.

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
    "validation_rises_while_training_falls": 0.85,
    "training_far_below_validation_at_end": 0.9,
    "validation_inputs_differ": 0.03,
    "validation_in_train_mode": 0.03,
    "validation_worse_from_the_start": 0.2,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("validation_rises_while_training_falls", "training_far_below_validation_at_end")
