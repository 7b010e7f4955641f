"""The labels cannot be predicted from the inputs.

## Mechanism
The labels cannot be predicted from the inputs: shuffled, misaligned or random.

## What you would see
`L` falls to the constant predictor's level and stays, gradients and updates are healthy, per-step gradients point
in unrelated directions (low signal to noise), no dead or saturated layers; given many epochs the training set is
memorized while fresh batches stay at chance.

## What rules it out
Everything downstream is healthy; learning_rate_too_low moves steadily, uninformative_labels does not move.

## How it is verified
Train again and realign inputs and labels; the failure goes away.

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
    "weight_decay_dominates": 0.02,
    "gradients_zero": 0.01,
    "signal_dies_over_depth": 0.02,
    "first_steps_overshoot": 0.05,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("loss_at_constant_predictor", "accuracy_at_chance")
