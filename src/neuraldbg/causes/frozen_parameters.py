"""Parameters that should train have requires_grad off.

## Mechanism
A parameter with requires_grad off takes part in the forward and never changes. That is right for a backbone that was
trained before; it is a fault when the frozen part has just been initialized at random, or when the head was meant to
train and was frozen with the rest.

## What you would see
requires_grad is off for parameters of a model whose loss stays high; no gradient and no update there; often the last
layer, or nearly all of the weights.

## What rules it out
Freezing is not a fault in itself: if the rest of the model brings the loss down, nothing failed. If requires_grad is
on and there is no gradient, the graph is cut (detached_graph).

## How it is verified
Train again with requires_grad on for these parameters, and with them in the optimizer: the loss falls further.

## Remedy
Set requires_grad_(True) on them before the optimizer is built.
"""

from collections.abc import Mapping

TITLE = "Parameters that should train have requires_grad off"
REMEDY = "Set requires_grad_(True) on them before the optimizer is built."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "unfreeze_parameters"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("some_parameters_frozen",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "frozen_parameters_are_in_optimizer": 0.5,
    "run_learned_well": 0.02,
    "some_parameters_frozen": 0.99,
    "trainable_share_is_low": 0.8,
    "last_layer_is_frozen": 0.5,
    "weights_frozen_beside_biases": 0.25,
    "loss_fell_to_little": 0.03,
    "zero_weights_block_gradient": 0.02,
    "units_start_equal": 0.02,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("last_layer_is_frozen", "weights_frozen_beside_biases", "some_parameters_frozen")
