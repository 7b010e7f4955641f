"""ReLU units are zero on every input.

## Mechanism
A ReLU passes no gradient where its input is negative. A unit whose input is negative for every sample gives zero,
receives zero, and cannot come back. Biases that start below zero, weights that start with one sign, and single
oversized updates all bring units there.

## What you would see
Units that are zero on all samples, batch after batch; the gradient of their weights is exactly zero; their share
rises and does not fall.

## What rules it out
Many zeros are normal: half of a ReLU's outputs should be zero, and a unit that is active for some samples is alive.
If the units died at an update that moved the weights by a large part of their norm, the learning rate is the root and
the dead units are its effect. If all inputs are alike or out of scale, the root lies there.

## How it is verified
Train again with a leaky activation in its place, or with biases at zero: the units take part again and the loss
falls.

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
    "run_learned_well": 0.02,
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
