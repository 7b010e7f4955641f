"""Parameters are trained for and never used.

## Mechanism
A module was built, and its parameters were given to the optimizer, but the forward never calls it or drops what it
returns. It costs memory, changes nothing, and what it was meant to do does not happen.

## What you would see
Parameters in the optimizer, with requires_grad on, whose gradient is absent from the first step on; no forward of the
module, or an output that leads nowhere.

## What rules it out
The module is called and its output is used, and the path to the loss is cut behind it: detached_graph. Branches that
take turns (an expert that was not chosen, an auxiliary head in some steps) receive gradients at other steps.

## How it is verified
Train again with the module called, or without it: in the first case it receives gradients, in the second nothing
changes.

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
    "lost_part_is_the_front": 0.03,
    "graph_is_cut": 0.35,
    "run_learned_well": 0.5,
    "parameters_never_reached": 0.9,
    "output_is_dropped": 0.4,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("parameters_never_reached", "output_is_dropped")
