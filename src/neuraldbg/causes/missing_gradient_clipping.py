"""Gradients spike and nothing clips them.

## Mechanism
The loss surface of recurrent and very deep networks has cliffs: places where the gradient is a thousand times that of
a step ago. Without a limit one such gradient carries the weights far away from all that was learned.

## What you would see
Single gradients ten to a thousand times the run's median, from a healthy level, in a recurrent or deep model; the
loss jumps right after.

## What rules it out
The input of that step was extreme: outlier_batch. The learning rate rose: learning_rate_jump. Gradients are clipped
already. Gradients are large at all steps and not only at some: exploding_depth or the learning rate.

## How it is verified
Train again with the gradient norm clipped at its median: the loss does not jump.

## Remedy
Clip the gradient norm before each step: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).
"""

from collections.abc import Mapping

TITLE = "Gradients spike and nothing clips them"
REMEDY = "Clip the gradient norm before each step: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "clip_gradients"
FAILURE_TYPES: tuple[str, ...] = ("exploding_gradients",)
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("spike_after_learning", "gradient_grows_before_trouble")
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "domain_left_out_of_calm": 0.02,
    "spike_after_learning": 0.85,
    "explosion_precedes": 0.3,
    "run_learned_well": 0.02,
    "gradient_spikes": 0.9,
    "spike_without_trigger": 0.88,
    "input_level_shifted": 0.03,
    "target_outlier": 0.02,
    "model_is_recurrent": 0.75,
    "stack_is_deep": 0.6,
    "gradients_clipped": 0.02,
    "loss_left_its_best": 0.7,
    "gradient_grows_before_trouble": 0.8,
    "learning_rate_rose_into_trouble": 0.03,
    "learning_rate_jumped": 0.02,
    "input_outlier": 0.03,
    "updates_huge_at_start": 0.1,
    "first_steps_overshoot": 0.08,
    "loss_in_hazardous_operation": 0.05,
    "first_non_finite_in_float16": 0.02,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("model_is_recurrent", "gradient_spikes")
#: Findings that say when it starts, where another finding says where.
STARTS_WITH: tuple[str, ...] = ("gradient_spikes", "gradient_grows_before_trouble")
