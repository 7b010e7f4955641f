"""Validation is preprocessed or run otherwise than training.

## Mechanism
Validation inputs are preprocessed otherwise than training inputs, or run in the wrong mode, so that validation
fails where training does not.

## What you would see
Training loss well below validation loss from the first epoch; statistics of the model's input differ between
forwards with and without gradient, or dropout and batch norm are in train mode in forwards without gradient.

## What rules it out
Gap from the start, not growing as in overfitting; input statistics or flags differ.

## How it is verified
Train again and one preprocessing for both; model.eval() in validation; the failure goes away.

## Remedy
Use one preprocessing for both, and model.eval() in validation.
"""

from collections.abc import Mapping

TITLE = "Validation is preprocessed or run otherwise than training"
REMEDY = "Use one preprocessing for both, and model.eval() in validation."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = None
FAILURE_TYPES: tuple[str, ...] = ("data_anomaly",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = (
    "validation_inputs_differ",
    "validation_in_train_mode",
    "validation_worse_from_the_start",
    "validation_never_improves",
)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "validation_inputs_differ": 0.65,
    "validation_in_train_mode": 0.35,
    "validation_worse_from_the_start": 0.7,
    "validation_never_improves": 0.4,
    "validation_rises_while_training_falls": 0.15,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = (
    "validation_inputs_differ",
    "validation_in_train_mode",
    "validation_worse_from_the_start",
    "validation_never_improves",
)
