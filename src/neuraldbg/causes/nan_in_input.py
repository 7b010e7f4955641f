"""A batch carried NaN or infinity into the model.

## Mechanism
A missing value in a table, a division by zero in preprocessing, a broken file: a single NaN in a batch makes the loss
NaN, and the step after it makes every weight NaN.

## What you would see
The first non-finite value of the run is in the model's input, before any parameter touched it; the report names the
step, the rows and the features.

## What rules it out
All inputs were finite. An input that is finite and extreme is outlier_batch; a target that is not finite is
invalid_target.

## How it is verified
Train again without that batch, or with the value repaired: no NaN appears.

## Remedy
Find the rows named above in the input pipeline; drop or repair them, and treat infinities as missing.
"""

from collections.abc import Mapping

TITLE = "A batch carried NaN or infinity into the model"
REMEDY = "Find the rows named above in the input pipeline; drop or repair them, and treat infinities as missing."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "skip_batch"
FAILURE_TYPES: tuple[str, ...] = ("data_anomaly",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("input_non_finite",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "explosion_precedes": 0.02,
    "run_learned_well": 0.02,
    "input_non_finite": 0.97,
    "non_finite_begins_at_input": 0.95,
    "loss_non_finite": 0.95,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("input_non_finite",)
#: A fault of the program whatever the numbers do: named before a setting that is judged by them.
DEFINITE = True
