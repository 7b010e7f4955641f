"""Softmax is applied twice.

## Mechanism
The loss applies softmax or sigmoid to outputs that went through one already.

## What you would see
The graph from the loss reads nll ← log_softmax ← softmax (or bce_with_logits ← sigmoid); the input of the loss lies
in 0..1 and sums to one; loss floors at log(1+(C−1)/e).

## What rules it out
Structure of the loss graph; or values, where the graph is hidden.

## How it is verified
Train again and feed logits to the loss; the failure goes away.

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
    "softmax_before_loss": 0.98,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("softmax_before_loss",)
