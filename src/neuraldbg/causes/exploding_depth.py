"""The signal or its gradient explodes over depth.

## Mechanism
Through a stack of layers the signal is multiplied by each layer's gain. A gain of 1.5 over fifty layers is a factor
of 6e8. The same holds for the gradient on its way back, and for a recurrent network over time.

## What you would see
At the very first step: activations or gradients that grow from layer to layer by a similar factor, over many layers,
to values that are out of proportion at the end; a first loss that is huge, or not finite.

## What rules it out
The sizes are ordinary at the first step and grow over steps: then it is the learning rate. One layer alone is out of
line: init_too_large. The stack is not deep.

## How it is verified
Train again with normalization, residual scaling or a smaller gain: sizes are alike in all layers, and the loss falls.

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
REQUIRES: tuple[str, ...] = ("gradient_explodes_over_depth", "signal_explodes_over_depth", "outputs_overflow_at_once")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "initial_weights_extreme": 0.01,
    "outputs_overflow_at_once": 0.3,
    "run_learned_well": 0.02,
    "gradient_explodes_over_depth": 0.65,
    "signal_explodes_over_depth": 0.75,
    "stack_is_deep": 0.95,
    "initial_weights_large": 0.15,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("signal_explodes_over_depth", "gradient_explodes_over_depth")
