"""Parameters are trained for and never used.

## Mechanism
Parameters are trained for (in the optimizer, requires_grad on) and no forward reaches them.

## What you would see
In the optimizer, requires_grad on, gradient None from the first step: the module's forward is never called, or its
output is dropped; the loss falls and the module does nothing.

## What rules it out
No forward of it, or no path from its output to the loss; detached_graph has a forward on the path.

## How it is verified
Train again and call that module in the forward, or take it out; the failure goes away.

## Remedy
Call the module in the forward, or take it out of the model.
"""

from collections.abc import Mapping

TITLE = "Parameters are trained for and never used"
REMEDY = "Call the module in the forward, or take it out of the model."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = None
FAILURE_TYPES: tuple[str, ...] = ()
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("parameters_never_reached", "output_is_dropped")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "parameters_never_reached": 0.9,
    "output_is_dropped": 0.3,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("parameters_never_reached", "output_is_dropped")
