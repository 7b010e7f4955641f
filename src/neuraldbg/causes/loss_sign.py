"""The loss is maximized.

## Mechanism
Optimizers minimize. A reward, a log-likelihood or a similarity handed over without its minus is driven to its worst,
and nothing stops it: it has no lower end.

## What you would see
A loss that falls below the floor that its own kind has (a squared error or a cross-entropy below zero), or falls
without end while the model gets worse; a negation right at the loss; an optimizer with maximize=True.

## What rules it out
Log-densities, contrastive losses and policy objectives are negative by right; they settle, or swing around a level.

## How it is verified
Train again with the sign flipped: the loss stays above its floor and the predictions improve.

## Remedy
Flip its sign.
"""

from collections.abc import Mapping

TITLE = "The loss is maximized"
REMEDY = "Flip its sign."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "flip_loss_sign"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = (
    "loss_negated",
    "similarity_is_minimized",
    "loss_below_its_floor",
    "optimizer_maximizes",
    "loss_falls_without_bound",
)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "loss_is_negative_and_settles": 0.05,
    "run_learned_well": 0.1,
    "loss_negated": 0.75,
    "similarity_is_minimized": 0.3,
    "loss_below_its_floor": 0.6,
    "optimizer_maximizes": 0.12,
    "loss_falls_without_bound": 0.4,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = (
    "loss_negated",
    "similarity_is_minimized",
    "loss_below_its_floor",
    "optimizer_maximizes",
    "loss_falls_without_bound",
)
#: A fault of the program whatever the numbers do: named before a setting that is judged by them.
DEFINITE = True
