"""The loss is maximized.

## Mechanism
The loss is maximized where it should be minimized.

## What you would see
Loss falls without bound below its natural floor (or accuracy falls as "loss" improves): neg above nll/mse, or the
loss that is stepped down on is rising by design.

## What rules it out
Cross-entropy, mse, bce of valid targets cannot be negative; log-densities, contrastive and policy losses can.

## How it is verified
Train again and flip the sign; the failure goes away.

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
REQUIRES: tuple[str, ...] = ("loss_negated", "loss_below_its_floor", "optimizer_maximizes", "loss_falls_without_bound")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "loss_negated": 0.75,
    "loss_below_its_floor": 0.6,
    "optimizer_maximizes": 0.12,
    "loss_falls_without_bound": 0.4,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = (
    "loss_negated",
    "loss_below_its_floor",
    "optimizer_maximizes",
    "loss_falls_without_bound",
)
