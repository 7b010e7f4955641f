"""Train and eval mode, and batch statistics of too few samples."""

from __future__ import annotations

import random

from torch import nn
from torch.optim import Optimizer

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.places import parents, run_order
from bench.faultbench.recipe import Recipe

MODAL = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)


def _modal(recipe: Recipe) -> list[str]:
    """Modules whose forward differs between train and eval mode."""
    return [name for name, module in run_order(recipe) if isinstance(module, MODAL) and getattr(module, "p", 1.0) > 0]


def _has_modes(recipe: Recipe) -> bool:
    return single(recipe) and bool(_modal(recipe))


@injector("eval_mode_in_training", applies=_has_modes, judge="structure")
def eval_mode_in_training(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["from_start", "after_validation", "after_validation", "at_step"])
    places = _modal(recipe)
    when = 0
    if variant == "after_validation":
        recipe.loop.validation_every = rng.choice([10, 20, 30])
        recipe.loop.restore_train = False
        when = recipe.loop.validation_every
    else:
        when = 0 if variant == "from_start" else rng.randrange(5, recipe.steps // 3)

        def switch(model: nn.Module, optimizers: list[Optimizer], step: int) -> None:
            if step == when:
                model.eval()

        recipe.before_round.append(switch)
        recipe.loop.validation_every = 0
    accepted = (*places, *(place for path in places for place in parents(path)), "")
    label(recipe, "eval_mode_in_training", variant, tuple(dict.fromkeys(accepted)), (when, when))


@injector(
    "batchnorm_small_batch", applies=lambda recipe: single(recipe) and recipe.style.norm == "batch", judge="slower"
)
def batchnorm_small_batch(recipe: Recipe, rng: random.Random, strength: float) -> None:
    vector = "images" not in recipe.tags
    recipe.batch = 2 if vector else rng.choice([1, 1, 2])
    recipe.loop.accumulate = rng.choice([1, 1, 4])
    order = run_order(recipe)
    places = [name for name, module in order if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    accepted = (*places, *(place for path in places for place in parents(path)), "")
    label(recipe, "batchnorm_small_batch", f"batch {recipe.batch}", tuple(dict.fromkeys(accepted)))
