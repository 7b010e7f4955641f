"""Dropout removes nearly all of the signal.

## Mechanism
Dropout at rate p keeps a share of 1-p of the signal and scales it up by 1/(1-p). At high rates what is left is mostly
noise. PyTorch takes the share to drop; those used to libraries that take the share to keep write the opposite of what
they mean.

## What you would see
Dropout modules whose rate is 0.8 or more, outputs that are zero to that share, a noisy training loss that lies far
above the loss in eval mode.

## What rules it out
The rate is moderate, or the layer is wide enough and the loss falls all the same. A training loss below the
validation loss is the opposite picture: overfitting.

## How it is verified
Train again with a rate of 0.1 to 0.5: the noise goes down and the loss falls further.

## Remedy
Lower the dropout rate; PyTorch takes the share to drop, not the share to keep.
"""

from collections.abc import Mapping

TITLE = "Dropout removes nearly all of the signal"
REMEDY = "Lower the dropout rate; PyTorch takes the share to drop, not the share to keep."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "lower_dropout"
FAILURE_TYPES: tuple[str, ...] = ()
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("dropout_removes_most",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.15,
    "dropout_removes_most": 0.97,
    "dropout_removes_nearly_all": 0.8,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("dropout_removes_most",)
