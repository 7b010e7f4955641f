"""Modules run in eval mode while they are trained.

## Mechanism
Modules with a training mode (dropout, batch norm) run in eval mode while parameters are trained.

## What you would see
Modules with a training flag are in eval mode in forwards that get a backward.

## What rules it out
Flag at forward under grad. Frozen batch norm on purpose: only those modules, rest in train mode, loss falls: no
alarm.

## How it is verified
Train again and model.train(); the failure goes away.

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
    "modules_in_eval_mode": 0.98,
    "whole_model_in_eval_mode": 0.85,
    "eval_mode_only_in_norms_of_a_frozen_part": 0.02,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("modules_in_eval_mode",)
