"""The loss is summed or scaled up, and every gradient with it.

## Mechanism
A sum over the batch, the tokens or the pixels where an average was meant multiplies every gradient by their number;
so does accumulating over k backwards without dividing by k. A learning rate that was chosen for an average is then
too high by that factor.

## What you would see
A loss that is reduced by a sum, or that grows with the batch size; a first loss and first gradients many times the
ordinary; steps that overshoot.

## What rules it out
The loss is a mean. With Adam the factor cancels in the update, and a summed loss alone does no harm. The learning
rate is out of line even for an averaged loss: learning_rate_too_high.

## How it is verified
Train again with the loss averaged, at the same learning rate: the loss falls.

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
    "run_learned_well": 0.02,
    "loss_is_summed": 0.7,
    "accumulation_undivided": 0.3,
    "updates_huge_at_start": 0.5,
    "first_steps_overshoot": 0.4,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("loss_is_summed", "accumulation_undivided")
