"""One class dominates and the model predicts it alone.

## Mechanism
When one class makes up nearly all of the targets, always answering with it is right nearly always. The loss of that
answer is low, the gradient that leads away from it comes from a handful of samples, and the network stays there.

## What you would see
Targets dominated by one class, predictions that fall on that class for nearly every sample, and a loss near the
entropy of the class frequencies: what a constant guess reaches.

## What rules it out
The targets are balanced, or rare classes are predicted as well. If each batch has one class but another one each
time, the order is the problem: unshuffled_data. A loss that weights the classes, or a sampler that balances them,
speaks against it.

## How it is verified
Train again with the loss weighted by inverse class frequency, or with resampled batches: rare classes begin to be
predicted.

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
REQUIRES: tuple[str, ...] = ("rare_classes_are_missed",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "rare_classes_are_missed": 0.95,
    "run_learned_well": 0.3,
    "one_class_dominates": 0.97,
    "predictions_collapse_on_a_class": 0.75,
    "loss_is_reweighted": 0.03,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("one_class_dominates",)
