"""A batch carried NaN or infinity into the model.

## Mechanism
A batch carried NaN or Inf into the model.

## What you would see
First non-finite value of the run is in the model's input, before any parameter.

## What rules it out
Non-finite at the input, not born inside; gives batch index, and which feature.

## How it is verified
Train again and drop or repair the offending batch; the failure goes away.

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
    "input_non_finite": 0.97,
    "non_finite_begins_at_input": 0.95,
    "loss_non_finite": 0.95,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("input_non_finite",)
