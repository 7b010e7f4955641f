"""The signal or its gradient explodes over depth.

## Mechanism
Each layer of a deep or recurrent stack grows the signal or its gradient, and the product is out of range.

## What you would see
Forward or backward gain above one in every one of many modules, product out of range at step 0.

## What rules it out
Present at step 0, grows over depth; learning rate has no part in it.

## How it is verified
Train again and residual connections, normalization, or a smaller gain; the failure goes away.

## Remedy
Add residual scaling or normalization, or a smaller gain.
"""

from collections.abc import Mapping

TITLE = "The signal or its gradient explodes over depth"
REMEDY = "Add residual scaling or normalization, or a smaller gain."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "normalize_layer"
FAILURE_TYPES: tuple[str, ...] = ("exploding_gradients",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("gradient_explodes_over_depth", "signal_explodes_over_depth")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "gradient_explodes_over_depth": 0.65,
    "signal_explodes_over_depth": 0.75,
    "stack_is_deep": 0.95,
    "initial_weights_large": 0.15,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("signal_explodes_over_depth", "gradient_explodes_over_depth")
