"""The last activation cannot reach the targets.

## Mechanism
A ReLU never answers below zero, a sigmoid never above one, a tanh never beyond either. Targets outside cannot be
reached, whatever the weights; outputs are pushed against the bound, where the slope is zero. A softmax over a single
output is one for every input.

## What you would see
The model ends in a bounded activation and targets lie outside its range; many outputs sit at the bound; the loss
settles high.

## What rules it out
All targets lie in the range. A sigmoid under binary cross-entropy and a softmax under the log-likelihood are where
they belong; under a loss that applies them itself the cause is redundant_softmax.

## How it is verified
Train again without the last activation: outputs reach the targets and the loss falls.

## Remedy
Remove the last activation, or scale the targets into its range.
"""

from collections.abc import Mapping

TITLE = "The last activation cannot reach the targets"
REMEDY = "Remove the last activation, or scale the targets into its range."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "replace_activation"
FAILURE_TYPES: tuple[str, ...] = ("saturated_activations", "dead_neurons")
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("output_activation_out_of_reach", "softmax_over_one_class")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.02,
    "output_activation_out_of_reach": 0.93,
    "softmax_over_one_class": 0.07,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("output_activation_out_of_reach", "softmax_over_one_class")
