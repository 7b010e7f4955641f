"""The learning rate: too high, too low, raised on the way, gone on the way."""

from __future__ import annotations

import random

from torch import nn
from torch.optim import Optimizer, lr_scheduler

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.recipe import Recipe, geometric


@injector("learning_rate_too_high")
def learning_rate_too_high(recipe: Recipe, rng: random.Random, strength: float) -> None:
    recipe.loop.clip = None
    factor = geometric(25, 300, strength) if recipe.optimizer.adaptive else geometric(15, 200, strength)
    recipe.optimizer.learning_rate *= factor
    label(recipe, "learning_rate_too_high", recipe.optimizer.name, onset=(0, 10), also=())


@injector("learning_rate_too_low", applies=single)
def learning_rate_too_low(recipe: Recipe, rng: random.Random, strength: float) -> None:
    recipe.optimizer.learning_rate *= geometric(1 / 60, 1e-4, strength)
    recipe.optimizer.weight_decay = 0.0
    label(recipe, "learning_rate_too_low", recipe.optimizer.name)


@injector("learning_rate_jump", applies=single, judge="window")
def learning_rate_jump(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["param_groups", "lambda", "multistep", "one_cycle", "restart"])
    when = rng.randrange(int(recipe.steps * 0.25), int(recipe.steps * 0.6))
    factor = geometric(60, 600, strength) if recipe.optimizer.adaptive else geometric(25, 300, strength)
    recipe.loop.clip = None
    recipe.loop.scheduler = None
    onset = (when, when + 2)

    def groups(model: nn.Module, optimizers: list[Optimizer], step: int) -> None:
        if step == when:
            for group in optimizers[0].param_groups:
                group["lr"] *= factor

    if variant == "param_groups":
        recipe.before_round.append(groups)
    elif variant == "lambda":
        recipe.loop.scheduler = lambda optimizer: lr_scheduler.LambdaLR(
            optimizer, lambda step: factor if step >= when else 1.0
        )
    elif variant == "multistep":
        recipe.loop.scheduler = lambda optimizer: lr_scheduler.MultiStepLR(optimizer, [when], gamma=factor)
    elif variant == "restart":
        # The rate sinks, and the next cycle begins far too high.
        recipe.loop.scheduler = lambda optimizer: lr_scheduler.LambdaLR(
            optimizer, lambda step: 1 - 0.9 * step / when if step < when else factor
        )
    else:
        rate = recipe.optimizer.learning_rate
        recipe.loop.scheduler = lambda optimizer: lr_scheduler.OneCycleLR(
            optimizer,
            max_lr=rate * factor,
            total_steps=recipe.steps + 1,
            pct_start=when / recipe.steps,
            div_factor=factor,
            cycle_momentum=False,
        )
        # The rate climbs to its peak at ``when``; trouble begins somewhere on the way.
        onset = (0, when)
    label(recipe, "learning_rate_jump", variant, onset=onset, also=("learning_rate_too_high",))


@injector("learning_rate_collapsed", applies=single)
def learning_rate_collapsed(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(
        ["step_per_batch", "exponential", "cosine_short", "plateau_impatient", "linear_to_zero", "manual"]
    )
    end = max(3, int(recipe.steps * geometric(0.08, 0.015, strength)))
    drop = geometric(1e-3, 1e-5, strength)
    onset = (0, end + 2)
    if variant == "step_per_batch":
        size = max(1, end // 3)
        recipe.loop.scheduler = lambda optimizer: lr_scheduler.StepLR(optimizer, step_size=size, gamma=0.1)
    elif variant == "exponential":
        gamma = drop ** (1 / end)
        recipe.loop.scheduler = lambda optimizer: lr_scheduler.ExponentialLR(optimizer, gamma=gamma)
    elif variant == "cosine_short":
        recipe.loop.scheduler = lambda optimizer: lr_scheduler.LambdaLR(
            optimizer, lambda step: max(drop, 1 - step / end) ** 2
        )
    elif variant == "plateau_impatient":
        recipe.loop.scheduler = lambda optimizer: lr_scheduler.ReduceLROnPlateau(
            optimizer, patience=0, factor=0.1, threshold=0.05, min_lr=1e-9, eps=0.0
        )
        onset = (0, 4 * end + 10)
    elif variant == "linear_to_zero":
        recipe.loop.scheduler = lambda optimizer: lr_scheduler.LinearLR(
            optimizer, start_factor=1.0, end_factor=drop, total_iters=end
        )
    else:
        recipe.loop.scheduler = None

        def lower(model: nn.Module, optimizers: list[Optimizer], step: int) -> None:
            if step == end:
                for group in optimizers[0].param_groups:
                    group["lr"] *= drop

        recipe.before_round.append(lower)
        onset = (end, end + 2)
    label(recipe, "learning_rate_collapsed", variant, onset=onset, also=("learning_rate_too_low",))
