"""Batch norm takes its statistics from too few samples.

## Mechanism
Batch statistics come from one or a few samples.

## What you would see
Batch norm sees 1 to 4 values per channel in train mode; activations at ±1 or 0, noisy loss; running statistics far
from any batch's.

## What rules it out
Samples per channel; large train/eval gap.

## How it is verified
Train again and a larger batch, or group or layer norm; the failure goes away.

## Remedy
Use a larger batch, or group or layer norm.
"""

from collections.abc import Mapping

TITLE = "Batch norm takes its statistics from too few samples"
REMEDY = "Use a larger batch, or group or layer norm."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "replace_batch_norm"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("batch_norm_sees_few_samples",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "batch_norm_sees_few_samples": 0.97,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("batch_norm_sees_few_samples",)
