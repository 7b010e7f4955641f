"""ReLU units are zero on every input.

## Mechanism
Units of a ReLU layer are zero on every input, so that they never learn again.

## What you would see
Units zero on the whole batch, batch after batch, their `g` exactly zero, share rises and never falls.

## What rules it out
If it follows huge updates, the cause is learning_rate_too_high and this is its effect; from step 0, a negative
bias, or init.

## How it is verified
Train again and a leaky activation, or a smaller learning rate or bias; the failure goes away.

## Remedy
Use a leaky activation, a zero bias, or a smaller learning rate.
"""

from collections.abc import Mapping

TITLE = "ReLU units are zero on every input"
REMEDY = "Use a leaky activation, a zero bias, or a smaller learning rate."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "replace_activation"
FAILURE_TYPES: tuple[str, ...] = ("dead_neurons",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("units_dead_from_start", "units_die_later")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "units_dead_from_start": 0.7,
    "units_die_later": 0.5,
    "biases_start_negative": 0.35,
    "gradients_zero": 0.3,
    "updates_huge_at_start": 0.06,
    "first_steps_overshoot": 0.05,
    "inputs_out_of_scale": 0.05,
    "output_activation_out_of_reach": 0.03,
    "weights_shrink": 0.05,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("units_dead_from_start", "units_die_later")
