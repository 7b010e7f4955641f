"""Targets are invalid for the loss.

## Mechanism
Targets are NaN/Inf, or outside the range that the loss accepts.

## What you would see
Input and prediction finite, loss is not, or the loss op raises; target holds NaN, or class ids out of range, or
probabilities outside 0..1.

## What rules it out
The loss node's saved target.

## How it is verified
Train again and repair the targets; the failure goes away.

## Remedy
Check the targets: no NaN or infinity, class ids from 0 to C-1, probabilities between 0 and 1.
"""

from collections.abc import Mapping

TITLE = "Targets are invalid for the loss"
REMEDY = "Check the targets: no NaN or infinity, class ids from 0 to C-1, probabilities between 0 and 1."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = None
FAILURE_TYPES: tuple[str, ...] = ("data_anomaly",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("target_non_finite", "target_out_of_range")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "target_non_finite": 0.5,
    "target_out_of_range": 0.55,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("target_non_finite", "target_out_of_range")
