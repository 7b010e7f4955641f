"""The learning rate is too high.

## Mechanism
The gradient is the slope at one point. A step is right as long as the slope is still about the same at its end;
beyond that the loss rises instead of falling, the next gradient points back, and the steps grow or bounce. On the way
a single large step can kill units or send weights out of range for good.

## What you would see
From the first steps: updates that are a large part of the weights' norm, a loss that rises or swings where its own
gradient promised a fall, successive gradients that point against each other. It may end in NaN, in dead ReLUs, in
outputs that are the same for all samples, or at a loss that never moves again.

## What rules it out
The loss falls about as much as gradient and step predict. Sizes that grow over depth at the first step, before any
update, come from the initialization or the depth. A summed loss, unscaled inputs or targets, or gradients that are
never cleared make a moderate rate too high; then they are the cause.

## How it is verified
Train again with the learning rate divided by 10: the loss falls. The same change at a healthy moment does nothing of
the kind.

## Remedy
Divide the learning rate by 10; warm it up over the first steps.
"""

from collections.abc import Mapping

TITLE = "The learning rate is too high"
REMEDY = "Divide the learning rate by 10; warm it up over the first steps."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "lower_learning_rate"
FAILURE_TYPES: tuple[str, ...] = ("optimizer_instability", "exploding_gradients")
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 2.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = (
    "updates_huge_at_start",
    "updates_large",
    "first_steps_overshoot",
    "predicted_decrease_is_large",
    "gradients_oppose",
    "loss_ends_above_start",
    "weights_grow",
    "loss_swings_grow",
)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "domain_left_out_of_calm": 0.02,
    "spike_after_learning": 0.1,
    "explosion_precedes": 0.3,
    "run_learned_well": 0.02,
    "adaptive_rate_far_above_default": 0.6,
    "updates_huge_at_start": 0.6,
    "updates_large": 0.6,
    "first_steps_overshoot": 0.5,
    "predicted_decrease_is_large": 0.55,
    "gradients_oppose": 0.2,
    "loss_ends_above_start": 0.4,
    "units_die_later": 0.25,
    "representations_fade": 0.45,
    "loss_non_finite": 0.25,
    "weights_grow": 0.3,
    "learning_rate_jumped": 0.02,
    "learning_rate_rose_into_trouble": 0.03,
    "loss_is_summed": 0.06,
    "accumulation_undivided": 0.02,
    "inputs_out_of_scale": 0.08,
    "targets_out_of_scale": 0.06,
    "initial_weights_large": 0.04,
    "gradients_not_cleared": 0.01,
    "momentum_extreme": 0.03,
    "loss_swings_grow": 0.2,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("first_steps_overshoot", "updates_huge_at_start", "updates_large")
