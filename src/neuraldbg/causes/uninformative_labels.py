"""The labels cannot be predicted from the inputs.

## Mechanism
Inputs and labels do not belong together: one was shuffled without the other, a row was dropped on one side, ids were
sorted as text. There is nothing to learn but how frequent each label is, and with many epochs the training set by
heart.

## What you would see
The loss falls to the level of a constant guess and stays, while gradients and updates are healthy; the gradients of
different batches point in unrelated directions.

## What rules it out
Something on the way is ill: dead or saturated units, vanishing gradients, inputs without variation, a doubled
softmax. Gradients that agree and a loss that moves steadily point to learning_rate_too_low.

## How it is verified
Pair inputs and labels anew, and train again: the loss leaves the constant predictor's level. Where the labels are
what they are, no change to the training helps.

## Remedy
Check that inputs and labels are paired: print ten pairs as the model sees them.
"""

from collections.abc import Mapping

TITLE = "The labels cannot be predicted from the inputs"
REMEDY = "Check that inputs and labels are paired: print ten pairs as the model sees them."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = None
FAILURE_TYPES: tuple[str, ...] = ("data_anomaly",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 0.7
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("loss_at_constant_predictor", "accuracy_at_chance")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.02,
    "loss_at_constant_predictor": 0.9,
    "accuracy_at_chance": 0.9,
    "gradients_unrelated": 0.55,
    "predicted_decrease_is_tiny": 0.1,
    "updates_tiny": 0.02,
    "gradient_vanishes_over_depth": 0.03,
    "units_dead_from_start": 0.01,
    "units_saturated_from_start": 0.02,
    "inputs_do_not_vary": 0.01,
    "softmax_before_loss": 0.01,
    "initial_weights_small": 0.01,
    "updates_huge_at_start": 0.08,
    "loss_never_moved": 0.25,
    "representations_fade": 0.1,
    "weight_decay_dominates": 0.02,
    "gradients_zero": 0.01,
    "signal_dies_over_depth": 0.02,
    "first_steps_overshoot": 0.05,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("loss_at_constant_predictor", "accuracy_at_chance")
