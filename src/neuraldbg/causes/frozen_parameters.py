"""Parameters that should train have requires_grad off.

## Mechanism
Parameters that should train have requires_grad off.

## What you would see
Requires_grad is off where the rest trains and the loss stays high; no gradient, no update.

## What rules it out
Requires_grad flag; a trained head over a frozen backbone that does learn is no failure.

## How it is verified
Train again and unfreeze them; the failure goes away.

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
