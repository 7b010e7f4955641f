"""Dropout removes nearly all of the signal.

## Mechanism
Dropout removes nearly all of the signal.

## What you would see
Kept share ≪ 0.5: output zeros ≈ p in train mode, loss noisy and far above its eval-mode value.

## What rules it out
P of the module; train/eval gap in the opposite sense of overfitting.

## How it is verified
Train again and a smaller rate; the failure goes away.

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
    "dropout_removes_most": 0.97,
    "dropout_removes_nearly_all": 0.8,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("dropout_removes_most",)
