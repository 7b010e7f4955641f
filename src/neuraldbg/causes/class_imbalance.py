"""One class dominates and the model predicts it alone.

## Mechanism
One class dominates and the model predicts it alone.

## What you would see
Predictions collapse on one class, target marginal dominated by it, loss near its entropy.

## What rules it out
Target marginal itself is skewed, and batches are alike.

## How it is verified
Train again and reweight or resample; the failure goes away.

## Remedy
Weight the loss by class, resample, and judge by balanced accuracy.
"""

from collections.abc import Mapping

TITLE = "One class dominates and the model predicts it alone"
REMEDY = "Weight the loss by class, resample, and judge by balanced accuracy."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = None
FAILURE_TYPES: tuple[str, ...] = ("data_anomaly",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("one_class_dominates",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "one_class_dominates": 0.97,
    "predictions_collapse_on_a_class": 0.75,
    "loss_is_reweighted": 0.03,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("one_class_dominates",)
