"""The initial weights are too large.

## Mechanism
Initial weights are so large that activations or logits start out of range.

## What you would see
At step 0 forward gain of one or more layers far above what their fan-in gives, logits huge, first loss ≫ that of a
uniform guess, or nonlinearities saturated at once.

## What rules it out
Weight spread against 1/sqrt(fan-in) on ordinary input.

## How it is verified
Train again and the layer's standard initialization; the failure goes away.

## Remedy
Use the standard initialization of the layer.
"""

from collections.abc import Mapping

TITLE = "The initial weights are too large"
REMEDY = "Use the standard initialization of the layer."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "reinitialize_layer"
FAILURE_TYPES: tuple[str, ...] = ("exploding_gradients", "saturated_activations")
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("initial_weights_large", "embedding_used_as_output_starts_large", "outputs_large_at_start")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "initial_weights_large": 0.8,
    "embedding_used_as_output_starts_large": 0.15,
    "first_loss_huge": 0.6,
    "outputs_large_at_start": 0.8,
    "inputs_out_of_scale": 0.03,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = (
    "embedding_used_as_output_starts_large",
    "initial_weights_large",
    "outputs_large_at_start",
)
