"""The learning rate is too low.

## Mechanism
Each step goes in the right direction and is far too short. The loss falls by exactly what the gradient predicts, and
that is next to nothing; the run is not stuck, it would take a thousand times as long.

## What you would see
A loss that falls steadily and hardly; updates a millionth of the weights or less; a fall that equals the predicted
one; successive gradients that are nearly parallel.

## What rules it out
Gradients are themselves vanishing (over depth, by dead units, by underflow): the rate cannot help there. Gradients
point in unrelated directions and the loss does not move: uninformative_labels. The rate was high and fell:
learning_rate_collapsed.

## How it is verified
Train again with the learning rate multiplied by 10: the loss falls about ten times as fast.

## Remedy
Multiply the learning rate by 10, and again while the loss falls faster.
"""

from collections.abc import Mapping

TITLE = "The learning rate is too low"
REMEDY = "Multiply the learning rate by 10, and again while the loss falls faster."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "raise_learning_rate"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.5
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("predicted_decrease_is_tiny", "updates_tiny", "updates_small")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.02,
    "predicted_decrease_is_tiny": 0.85,
    "updates_tiny": 0.6,
    "updates_small": 0.9,
    "gradients_parallel": 0.7,
    "loss_never_moved": 0.4,
    "loss_still_falling_slowly": 0.6,
    "gradient_vanishes_over_depth": 0.05,
    "initial_weights_small": 0.02,
    "scaled_gradients_clipped": 0.01,
    "updates_lost_to_rounding": 0.01,
    "learning_rate_collapsed_early": 0.02,
    "adam_epsilon_swamps": 0.02,
    "signal_dies_over_depth": 0.02,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("updates_tiny", "updates_small")
