"""Softmax is applied twice.

## Mechanism
cross_entropy applies log-softmax, and binary_cross_entropy_with_logits a sigmoid, to what they are given.
Probabilities instead of logits are squeezed a second time: even a perfect prediction of one and zeros then gives a
loss of log(1+(C-1)/e) for C classes, and the gradient is small everywhere.

## What you would see
In the loss graph a softmax under log_softmax, or a sigmoid under the loss with logits; inputs of the loss that lie
between 0 and 1 and sum to one; a loss that stops at its raised floor.

## What rules it out
The inputs of the loss are logits of both signs. nll_loss over log_softmax is the same as cross_entropy; log_softmax
applied twice changes nothing.

## How it is verified
Train again with the logits handed to the loss: it falls below the raised floor.

## Remedy
Return the logits: the loss applies the softmax (or sigmoid) itself.
"""

from collections.abc import Mapping

TITLE = "Softmax is applied twice"
REMEDY = "Return the logits: the loss applies the softmax (or sigmoid) itself."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "drop_redundant_softmax"
FAILURE_TYPES: tuple[str, ...] = ("saturated_activations", "vanishing_gradients")
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("softmax_before_loss",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.08,
    "softmax_before_loss": 0.98,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("softmax_before_loss",)
#: A fault of the program whatever the numbers do: named before a setting that is judged by them.
DEFINITE = True
