"""Calls forgotten in the loop: clearing gradients, taking a step."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence

from torch import nn
from torch.optim import Optimizer

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.recipe import Recipe


@injector("missing_zero_grad", applies=single, judge="slower")
def missing_zero_grad(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["never", "never", "never", "once_per_epoch", "before_loop", "wrong_place"])
    every = int(30 + 60 * strength)
    recipe.loop.clip = None if rng.random() < 0.8 else recipe.loop.clip

    def clear(model: nn.Module, optimizers: Sequence[Optimizer], step: int, set_to_none: bool) -> None:
        if (variant == "once_per_epoch" and step % every == 0) or (variant == "before_loop" and step == 0):
            optimizers[0].zero_grad()
        elif variant == "wrong_place":
            # Only the part that was added last is cleared.
            list(model.children())[-1].zero_grad()

    recipe.clear = clear
    label(recipe, "missing_zero_grad", variant, onset=(0, 3))


@injector("missing_optimizer_step")
def missing_optimizer_step(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["never", "condition", "copy", "scheduler_only"] if recipe.phases is None else ["never"])
    also: tuple[str, ...] = ()
    if variant == "copy":
        # The optimizer was given the parameters of another copy of the model.
        recipe.parameters = lambda model: copy.deepcopy(model).parameters()
        also = ("parameters_not_in_optimizer",)
    elif variant == "condition":
        every = 10 * recipe.steps
        recipe.take_step = lambda step: (step + 1) % every == 0
    else:
        recipe.take_step = lambda step: False
        if variant == "scheduler_only" and recipe.loop.scheduler is None:
            from torch.optim.lr_scheduler import StepLR

            recipe.loop.scheduler = lambda optimizer: StepLR(optimizer, step_size=50)
    label(recipe, "missing_optimizer_step", variant, also=also)
