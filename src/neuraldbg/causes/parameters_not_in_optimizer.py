"""Parameters are missing from the optimizer.

## Mechanism
Parameters receive gradients and the optimizer does not hold them (stale, forgotten, or replaced after its
construction).

## What you would see
Parameters with gradients are in no stepping optimizer; weights of those modules never change.

## What rules it out
Gradient present, update nil, not in any param group. An intended freeze has requires_grad off.

## How it is verified
Train again and give the optimizer those parameters; the failure goes away.

## Remedy
Build the optimizer after the model is complete, from model.parameters(); keep submodules in nn.ModuleList, not in a
list.
"""

from collections.abc import Mapping

TITLE = "Parameters are missing from the optimizer"
REMEDY = "Build the optimizer after the model is complete, from model.parameters(); keep submodules in nn.ModuleList, not in a list."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "add_missing_parameters"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = (
    "parameters_left_out_of_optimizer",
    "module_not_registered",
    "optimizer_holds_foreign_parameters_only",
)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "parameters_left_out_of_optimizer": 0.85,
    "module_not_registered": 0.35,
    "optimizer_holds_foreign_parameters_only": 0.3,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = (
    "module_not_registered",
    "optimizer_holds_foreign_parameters_only",
    "parameters_left_out_of_optimizer",
)
