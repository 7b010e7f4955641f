"""One extreme batch knocked the model off course.

## Mechanism
One batch holds values far outside of what the run has seen (a unit mixed up, a sentinel such as 9999, a corrupt
file). Its gradient is large in the same proportion, and the step that it makes undoes what was learned.

## What you would see
At one step: input or target far outside its running range, a jump of the loss in the same step, a gradient to match;
a healthy run before it.

## What rules it out
Input and target of that step were ordinary: then the gradient spiked by itself (missing_gradient_clipping) or the
learning rate rose. The input stayed at the new level: input_shift.

## How it is verified
Train again with that batch left out or clipped: the loss does not jump.

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
    "run_learned_well": 0.02,
    "input_outlier": 0.8,
    "target_outlier": 0.25,
    "outlier_meets_loss_jump": 0.9,
    "loss_spiked": 0.5,
    "loss_left_its_best": 0.6,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("input_outlier", "target_outlier")
