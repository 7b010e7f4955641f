"""The input distribution changed during training.

## Mechanism
The data changed while the run went on: another file with other units, a normalization that is applied twice or no
longer, an augmentation that was switched on. The weights fit the old distribution, and the loss rises.

## What you would see
Mean or spread of the model's input moves to another level at one step and stays there; the loss rises at that step.

## What rules it out
The input returns to its level at the next step: outlier_batch. The input is steady, and the learning rate moved at
that step: learning_rate_jump.

## How it is verified
Train again with the earlier preprocessing kept: the loss goes on as before.

## Remedy
Find what changes at that step: another preprocessing, a second normalization, another file; restore the earlier
one.
"""

from collections.abc import Mapping

TITLE = "The input distribution changed during training"
REMEDY = "Find what changes at that step: another preprocessing, a second normalization, another file; restore the earlier one."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = None
FAILURE_TYPES: tuple[str, ...] = ("data_anomaly",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("input_level_shifted",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.02,
    "input_level_shifted": 0.97,
    "loss_left_its_best": 0.6,
    "input_outlier": 0.1,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("input_level_shifted",)
