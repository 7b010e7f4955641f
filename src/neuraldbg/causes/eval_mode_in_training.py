"""Modules run in eval mode while they are trained.

## Mechanism
model.eval() switches dropout off and makes batch norm use its stored statistics. A validation pass that does not
switch back leaves the training to go on that way: without regularization, and with statistics frozen at whatever they
were.

## What you would see
Modules whose behaviour depends on the mode (dropout, batch norm) that are in eval mode in forwards that a backward
follows, often from the end of the first validation on.

## What rules it out
Only the norms of a part that is otherwise frozen are in eval mode, which is a common practice in fine-tuning. A model
without dropout and batch norm behaves equally in both modes.

## How it is verified
Train again with model.train() after every evaluation: dropout and batch statistics are active in every training step.

## Remedy
Call model.train() after each evaluation.
"""

from collections.abc import Mapping

TITLE = "Modules run in eval mode while they are trained"
REMEDY = "Call model.train() after each evaluation."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "train_mode"
FAILURE_TYPES: tuple[str, ...] = ()
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("modules_in_eval_mode",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.3,
    "modules_in_eval_mode": 0.98,
    "whole_model_in_eval_mode": 0.85,
    "eval_mode_only_in_norms_of_a_frozen_part": 0.02,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("modules_in_eval_mode",)
#: A fault of the program whatever the numbers do: named before a setting that is judged by them.
DEFINITE = True
