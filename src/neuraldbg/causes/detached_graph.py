"""The graph is cut, so that parameters below get no gradient.

## Mechanism
Detach, no_grad, .data, an argmax or a numpy round trip cuts the graph, so that parameters above the cut get no
gradient.

## What you would see
Parameters that require gradients get none, though modules downstream of them do; the module's output has no grad_fn
or the path to it ends.

## What rules it out
Requires_grad on, in the optimizer, forward runs, gradient None or zero. Locus: last module before the cut.

## How it is verified
Train again and remove the cut; the failure goes away.

## Remedy
Remove the detach(), no_grad(), .data or numpy round trip after that module.
"""

from collections.abc import Mapping

TITLE = "The graph is cut, so that parameters below get no gradient"
REMEDY = "Remove the detach(), no_grad(), .data or numpy round trip after that module."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = None
FAILURE_TYPES: tuple[str, ...] = ("vanishing_gradients",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("graph_is_cut",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "graph_is_cut": 0.97,
    "cut_module_leads_to_loss": 0.8,
    "parameters_never_reached": 0.1,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("graph_is_cut",)
