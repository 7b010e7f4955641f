"""Batch norm takes its statistics from too few samples.

## Mechanism
In training mode batch norm normalizes each channel by the mean and spread of the batch at hand. Of one, two or four
values these are mostly noise: with two values every output is +1 or -1 whatever the input was. The running statistics
that evaluation uses then describe no batch that was ever seen.

## What you would see
A batch-norm module that sees only a few values per channel in training mode, a loss that jumps from step to step,
outputs that sit at a few fixed values, and a validation loss far from the training loss.

## What rules it out
Values per channel are many: in a convolution each position of the image counts, so that a batch of two images of 32
by 32 is no problem. Group, layer and instance norm do not depend on the batch, and batch norm in eval mode does not
either.

## How it is verified
Train again with a larger batch, or with group norm in its place: the noise goes, and training and evaluation agree.

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
    "run_learned_well": 0.1,
    "batch_norm_sees_few_samples": 0.97,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("batch_norm_sees_few_samples",)
