"""The initial weights are too large.

## Mechanism
A layer keeps the scale of its input when its weights have a spread of about one over the square root of the number of
its inputs. Weights many times larger push activations out of range, saturate nonlinearities, and give the first
logits and the first loss sizes that the run has to recover from.

## What you would see
At the first step: a layer whose output is far larger than its input explains, large logits, a first loss far above
that of a uniform guess, or units that are saturated at once; weights whose spread is many times that of the standard
initialization.

## What rules it out
The weights are ordinary for their fan-in and the input is what is large: unnormalized_input. The growth is spread
over many layers by a little in each: exploding_depth.

## How it is verified
Train again with the layer's standard initialization: the first loss is about that of a uniform guess.

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
    "initial_weights_extreme": 0.75,
    "run_learned_well": 0.02,
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
