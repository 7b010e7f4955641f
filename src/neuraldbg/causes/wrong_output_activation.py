"""The last activation cannot reach the targets.

## Mechanism
The last activation cannot reach the targets (ReLU, sigmoid or tanh under targets out of its range).

## What you would see
Last op of the model is relu/sigmoid/tanh/softmax and targets lie outside its range: residual cannot reach zero;
share of outputs at the bound is high.

## What rules it out
Target range against output range.

## How it is verified
Train again and remove or replace the last activation; the failure goes away.

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
    "output_activation_out_of_reach": 0.93,
    "softmax_over_one_class": 0.07,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("output_activation_out_of_reach", "softmax_over_one_class")
