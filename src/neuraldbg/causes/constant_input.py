"""The inputs carry no variation.

## Mechanism
A network can only tell samples apart by what differs between them. If the tensors that reach it are the same for
every sample (an unread file, a division in integers, an index that never moves, a normalization over a dimension of
size one), the best it can do is to answer with the average target.

## What you would see
No spread across the samples of a batch in the input, or behind a first module that erases it; activations that are
equal over the batch; a loss at the level of a constant predictor; predictions that do not vary.

## What rules it out
The input varies across samples where the model reads it and behind its first layers. If inputs vary and predictions
do not, look at uninformative_labels, dying_relu or init_too_small.

## How it is verified
Repair what feeds the model, and train again: activations differ between samples and the loss leaves the constant
predictor's level.

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
    "run_learned_well": 0.02,
    "inputs_do_not_vary": 0.9,
    "inputs_nearly_all_zero": 0.4,
    "a_module_erases_its_input": 0.12,
    "accuracy_at_chance": 0.8,
    "predictions_do_not_vary": 0.7,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("inputs_do_not_vary", "inputs_nearly_all_zero")
