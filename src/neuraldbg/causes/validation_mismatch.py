"""Validation is preprocessed or run otherwise than training.

## Mechanism
Training and validation have to differ in their samples alone. A normalization that only one of them has, another
image size, another tokenizer, or a model that is still in training mode makes the validation loss measure that
difference.

## What you would see
A validation loss above the training loss from the first evaluation on; inputs whose statistics differ between
forwards with and without gradient; dropout or batch norm in training mode while validating.

## What rules it out
The gap opens later and grows: overfitting. Inputs and modes agree, and the gap is small.

## How it is verified
Train again with one preprocessing for both, and model.eval() in validation: the gap closes.

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
    "run_learned_well": 0.7,
    "validation_gap_grows": 0.2,
    "validation_gap_is_wide": 0.75,
    "few_samples_recur": 0.05,
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
