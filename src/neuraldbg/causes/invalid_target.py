"""Targets are invalid for the loss.

## Mechanism
A loss is only defined for valid targets. NaN in a regression target, a class id equal to the number of classes, an
ignore value that the loss does not know, a mask of 0 and 255 where 0 and 1 are expected: the loss becomes NaN,
raises, or falls where it should not.

## What you would see
A finite input and a finite prediction with a loss that is not; targets that hold NaN or infinity, or lie outside what
this loss accepts.

## What rules it out
All targets are finite and within the loss's range. A large but valid target is unscaled_target.

## How it is verified
Train again with those targets repaired or left out: the loss is finite, and stays at or above its floor.

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
REQUIRES: tuple[str, ...] = ("target_non_finite", "target_out_of_range", "no_target_counts")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "explosion_precedes": 0.03,
    "run_learned_well": 0.02,
    "target_non_finite": 0.5,
    "target_out_of_range": 0.55,
    "no_target_counts": 0.05,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("target_non_finite", "target_out_of_range", "no_target_counts")
#: A fault of the program whatever the numbers do: named before a setting that is judged by them.
DEFINITE = True
