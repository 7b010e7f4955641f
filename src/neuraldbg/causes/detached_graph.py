"""The graph is cut, so that parameters below get no gradient.

## Mechanism
Gradients flow back along the operations that autograd recorded. A detach(), a no_grad() block, .data, .item(), an
argmax, or a trip through numpy in the forward pass ends the record there: everything that feeds into it is computed
in the forward and receives nothing in the backward. Rounding, a sign or a floor keeps the record and has a slope of
zero everywhere, which comes to the same.

## What you would see
Parameters that require gradients and are used in the forward, and whose gradient is absent, while modules behind them
have gradients. The output of the last module before the cut is read by the next one, and no path of the autograd
graph connects the two.

## What rules it out
The gradient is there (if it is zero without a flat function on the way, units may be dead or weights zero),
requires_grad is off (frozen_parameters), or the module is never called at all (unused_parameters). Targets, teacher networks and
stop-gradients beside a trained path are cut on purpose and are not reported.

## How it is verified
Train again without the cut: the parameters above it receive gradients and change.

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
REQUIRES: tuple[str, ...] = ("graph_is_cut", "gradient_stops_at_flat_function")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "lost_part_is_the_front": 0.75,
    "run_learned_well": 0.2,
    "graph_is_cut": 0.9,
    "gradient_stops_at_flat_function": 0.08,
    "parameters_never_reached": 0.1,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("graph_is_cut", "gradient_stops_at_flat_function")
#: A fault of the program whatever the numbers do: named before a setting that is judged by them.
DEFINITE = True
