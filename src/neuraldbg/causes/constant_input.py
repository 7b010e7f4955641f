"""The inputs carry no variation.

## Mechanism
Inputs, or most features of them, carry no variation.

## What you would see
Input (or most features, or after a first normalization or embedding) has no variation across samples; activations
equal across the batch; `L` at the constant predictor.

## What rules it out
Variance across the batch is nil at the input.

## How it is verified
Train again and repair the input pipeline; the failure goes away.

## Remedy
Look at the tensors that reach the model: a division in integers, an unread file, a column that is always the same.
"""

from collections.abc import Mapping

TITLE = "The inputs carry no variation"
REMEDY = "Look at the tensors that reach the model: a division in integers, an unread file, a column that is always the same."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = None
FAILURE_TYPES: tuple[str, ...] = ("data_anomaly",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("inputs_do_not_vary", "inputs_nearly_all_zero", "a_module_erases_its_input")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "inputs_do_not_vary": 0.9,
    "inputs_nearly_all_zero": 0.4,
    "a_module_erases_its_input": 0.12,
    "accuracy_at_chance": 0.8,
    "predictions_do_not_vary": 0.7,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("inputs_do_not_vary", "inputs_nearly_all_zero")
