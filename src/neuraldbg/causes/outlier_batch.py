"""One extreme batch knocked the model off course.

## Mechanism
A single finite but extreme batch knocked the model off course.

## What you would see
One step: input (or target) extremes far outside the running range, then `L` and gradient spike in the same step.

## What rules it out
The input extreme precedes and coincides; learning rate unchanged; before it the run was healthy.

## How it is verified
Train again and skip or clip that batch; the failure goes away.

## Remedy
Look at the batch of that step; drop or clip such samples, or clip the gradient norm.
"""

from collections.abc import Mapping

TITLE = "One extreme batch knocked the model off course"
REMEDY = "Look at the batch of that step; drop or clip such samples, or clip the gradient norm."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "skip_batch"
FAILURE_TYPES: tuple[str, ...] = ("data_anomaly",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("input_outlier", "target_outlier")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "input_outlier": 0.8,
    "target_outlier": 0.25,
    "outlier_meets_loss_jump": 0.9,
    "loss_spiked": 0.5,
    "loss_left_its_best": 0.6,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("input_outlier", "target_outlier")
