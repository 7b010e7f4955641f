"""Parameters are missing from the optimizer.

## Mechanism
An optimizer updates the parameters that it was given when it was built. Layers that are added, replaced or moved
after that, and modules kept in a plain Python list, are not among them: they receive gradients and never change.

## What you would see
Parameters with a gradient that belong to no optimizer that steps; weights that are bit for bit those of the start.

## What rules it out
requires_grad is off (they are frozen, on purpose or not: frozen_parameters); a second optimizer steps them; they have
no gradient.

## How it is verified
Train again with an optimizer that holds them: they change and the loss falls further.

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
    "run_learned_well": 0.15,
    "parameters_left_out_of_optimizer": 0.85,
    "module_not_registered": 0.35,
    "optimizer_holds_foreign_parameters_only": 0.3,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = (
    "module_not_registered",
    "parameters_left_out_of_optimizer",
    "optimizer_holds_foreign_parameters_only",
)
#: Findings that make it a fault of the program whatever the numbers do.
DEFINITE: tuple[str, ...] = ("module_not_registered",)
