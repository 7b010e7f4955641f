"""The loss is summed or scaled up, and every gradient with it.

## Mechanism
The loss is summed where it should be averaged (or multiplied by a constant), which scales every gradient.

## What you would see
Reduction 'sum' or a factor: loss and gradient scale with batch (or sequence) size, each about N times the ordinary;
effects as of a learning rate too high.

## What rules it out
Reduction flag of the loss node; loss / N is ordinary.

## How it is verified
Train again and average; the failure goes away.

## Remedy
Average the loss over the batch; divide it by the number of accumulated backwards.
"""

from collections.abc import Mapping

TITLE = "The loss is summed or scaled up, and every gradient with it"
REMEDY = "Average the loss over the batch; divide it by the number of accumulated backwards."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "average_loss"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability", "exploding_gradients")
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("loss_is_summed", "accumulation_undivided")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "loss_is_summed": 0.7,
    "accumulation_undivided": 0.3,
    "updates_huge_at_start": 0.5,
    "first_steps_overshoot": 0.4,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("loss_is_summed", "accumulation_undivided")
