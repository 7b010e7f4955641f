"""The loss or a function in the model left its domain.

## Mechanism
The logarithm of zero is minus infinity, zero times infinity is NaN, and the square root has an infinite slope at
zero. An exponential overflows float32 above 88. A model that becomes certain, a vector that becomes zero, a variance
that collapses reach these points in the middle of a healthy run.

## What you would see
The first non-finite value of the run is born in a logarithm, square root, division, power, exponential, arc cosine or
norm, at an argument on the edge of its domain; or the loss is finite and its gradient is not.

## What rules it out
A value was non-finite before that operation: in the input, in a target, in the weights. The operation computes in
float16 and the same in float32 is finite: half_precision_overflow. Weights ran away before: the learning rate.

## How it is verified
Train again with the argument clamped, an epsilon inside, or the numerically stable form (log_softmax, logsumexp,
softplus): no non-finite value appears.

## Remedy
Clamp the argument, add an epsilon inside, or use the numerically stable form.
"""

from collections.abc import Mapping

TITLE = "The loss or a function in the model left its domain"
REMEDY = "Clamp the argument, add an epsilon inside, or use the numerically stable form."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "clamp_loss_input"
FAILURE_TYPES: tuple[str, ...] = ()
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = (
    "loss_in_hazardous_operation",
    "domain_edge_at_trouble",
    "gradient_nonfinite_while_loss_finite",
    "a_module_makes_non_finite_values",
    "exponential_grows",
)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "domain_left_out_of_calm": 0.65,
    "explosion_precedes": 0.12,
    "a_module_makes_non_finite_values": 0.25,
    "run_learned_well": 0.02,
    "loss_in_hazardous_operation": 0.7,
    "domain_edge_at_trouble": 0.5,
    "gradient_nonfinite_while_loss_finite": 0.35,
    "exponential_grows": 0.15,
    "loss_non_finite": 0.95,
    "input_non_finite": 0.01,
    "target_non_finite": 0.01,
    "first_non_finite_in_float16": 0.02,
    "updates_huge_at_start": 0.1,
    "adam_epsilon_vanishes_in_half": 0.01,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = (
    "loss_in_hazardous_operation",
    "a_module_makes_non_finite_values",
    "domain_edge_at_trouble",
    "gradient_nonfinite_while_loss_finite",
    "exponential_grows",
)
