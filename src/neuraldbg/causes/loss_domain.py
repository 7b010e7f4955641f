"""The loss or a function in the model left its domain.

## Mechanism
Log, sqrt, division or exp leaves its domain: log(0), sqrt'(0), 0/0, exp overflow.

## What you would see
First non-finite value of the run is born in the loss graph or in a log/sqrt/div/pow/exp/acos/norm node; or forward
is finite and the gradient is not (sqrt'(0), where-trap).

## What rules it out
Op name of the first non-finite node; inputs of that op at the edge of its domain.

## How it is verified
Train again and clamp, add an epsilon, or use the stable form; the failure goes away.

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
    "exponential_grows",
)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
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
    "domain_edge_at_trouble",
    "gradient_nonfinite_while_loss_finite",
    "exponential_grows",
)
