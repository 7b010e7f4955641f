"""Numbers of the optimizer: decay, momentum, Adam's epsilon and beta2."""

from __future__ import annotations

import random

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.recipe import Recipe, geometric


@injector("excessive_weight_decay", applies=single)
def excessive_weight_decay(recipe: Recipe, rng: random.Random, strength: float) -> None:
    choice = recipe.optimizer
    if choice.name == "adamw":
        # Decoupled: what counts is the rate times the decay, per step.
        choice.weight_decay = geometric(0.03, 0.3, strength) / choice.learning_rate
    elif choice.name == "sgd":
        choice.weight_decay = min(geometric(0.15, 2.0, strength), 0.5 / choice.learning_rate)
    else:
        choice.weight_decay = geometric(0.1, 2.0, strength)
    label(recipe, "excessive_weight_decay", choice.name, onset=(0, recipe.steps // 2))


def _momentum(recipe: Recipe) -> bool:
    # Adam divides by what its own gradients were, and shrugs off most betas: a third of its runs are enough.
    gentle = recipe.optimizer.adaptive and recipe.seed % 3
    return single(recipe) and recipe.optimizer.name != "rmsprop" and not gentle


@injector("excessive_momentum", applies=_momentum, judge="slower")
def excessive_momentum(recipe: Recipe, rng: random.Random, strength: float) -> None:
    choice = recipe.optimizer
    recipe.loop.clip = None
    momentum = 1 - geometric(0.004, 0.0005, strength)
    if choice.name == "sgd":
        if choice.momentum == 0:
            choice.learning_rate *= 0.6
        choice.momentum = momentum
    else:
        choice.betas = (1 - geometric(0.003, 0.0003, strength), choice.betas[1])
        choice.learning_rate *= 4
    label(recipe, "excessive_momentum", choice.name, onset=(0, 60), also=())


def _adam(recipe: Recipe) -> bool:
    return single(recipe) and recipe.optimizer.name in ("adam", "adamw", "rmsprop")


@injector("adam_epsilon_or_beta2", applies=_adam)
def adam_epsilon_or_beta2(recipe: Recipe, rng: random.Random, strength: float) -> None:
    choice = recipe.optimizer
    variants = ["epsilon", "epsilon"] + (["beta2", "stale"] if choice.name != "rmsprop" else [])
    variant = rng.choice(variants)
    also: tuple[str, ...] = ()
    onset = (0, 10)
    recipe.loop.clip = None
    if variant == "epsilon":
        choice.epsilon = geometric(3.0, 1e4, strength)
        also = ("learning_rate_too_low",)
    elif variant == "beta2":
        choice.betas = (0.9, geometric(0.3, 0.01, strength))
        choice.learning_rate *= 2
    else:
        # Gradients stay tiny for a while (a loss weight that is switched on late); the second moment is stale by then.
        quiet = rng.randrange(20, 50)
        choice.betas = (0.9, 0.999)
        choice.epsilon = 1e-16
        small = geometric(1e-3, 1e-6, strength)
        recipe.on_loss.append(lambda loss, step: loss * (small if step < quiet else 1.0))
        onset = (quiet, quiet + 5)
    label(recipe, "adam_epsilon_or_beta2", variant, onset=onset, also=also)
