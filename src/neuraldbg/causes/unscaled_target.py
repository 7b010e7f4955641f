"""The targets are out of scale.

## Mechanism
A network starts with outputs around zero. Targets in the hundred thousands give a first loss in the billions and
gradients to match; targets of a millionth give a loss that is small from the start and gradients that round to
nothing.

## What you would see
Regression targets of a size far from one, a first loss of about their mean square, first updates that carry the last
bias away; or a run that looks finished at the first step.

## What rules it out
The targets have a spread around one, or the loss is one of classification. Inputs of the same size as the targets
point to unnormalized_input.

## How it is verified
Standardize the targets, train again, and scale predictions back: the loss, in the units of the data, falls further.

## Remedy
Standardize the targets, train on them, and scale predictions back.
"""

from collections.abc import Mapping

TITLE = "The targets are out of scale"
REMEDY = "Standardize the targets, train on them, and scale predictions back."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "standardize_targets"
FAILURE_TYPES: tuple[str, ...] = ("data_anomaly", "exploding_gradients")
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("targets_out_of_scale", "targets_tiny")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.02,
    "targets_out_of_scale": 0.9,
    "targets_tiny": 0.1,
    "inputs_out_of_scale": 0.1,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("targets_out_of_scale", "targets_tiny")
