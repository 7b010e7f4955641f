"""The loss: shapes that broadcast, the wrong sign, the wrong scale."""

from __future__ import annotations

import random
from typing import Any

import torch.nn.functional as F
from torch import nn
from torch.optim import Optimizer

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.recipe import Dataset, Recipe, geometric


def _column(recipe: Recipe) -> bool:
    """Outputs of shape (N, 1)."""
    if recipe.task not in ("regression", "binary") or recipe.tags & {"self_target", "dense_target"}:
        return False
    from bench.faultbench.loop import data_of

    return data_of(recipe)[2].target.shape[1:] == (1,)


@injector("loss_shape_mismatch", applies=lambda recipe: single(recipe) and _column(recipe))
def loss_shape_mismatch(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["flat_target", "flat_output", "row_target"])
    if recipe.task == "binary":
        recipe.objective = lambda output, target, inputs: (F.softplus(output) - output * target).mean()
    else:
        recipe.objective = rng.choice(
            [
                recipe.objective,
                lambda output, target, inputs: (output - target).pow(2).mean(),
                lambda output, target, inputs: (output - target).abs().mean(),
                lambda output, target, inputs: F.mse_loss(output, target),
            ]
        )

    def flat(data: Dataset) -> Dataset:
        return Dataset(data.inputs, data.target.flatten())

    if variant == "flat_target":
        recipe.on_train_data.append(flat)
        recipe.on_validation_data.append(flat)
    elif variant == "flat_output":
        recipe.on_output.append(lambda output, step: output.squeeze(1))
    else:
        recipe.wrap_objective(lambda output, target: (output, target.reshape(1, -1)))
    label(recipe, "loss_shape_mismatch", variant)


@injector("loss_sign")
def loss_sign(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["minus", "minus", "one_minus", "maximize", "nll_of_minus"])
    if (variant == "nll_of_minus" and recipe.task != "classes") or recipe.phases is not None:
        variant = "minus"
    recipe.loop.clip = None if rng.random() < 0.7 else recipe.loop.clip
    if variant == "minus":
        recipe.on_loss.append(lambda loss, step: -loss)
    elif variant == "one_minus":
        recipe.on_loss.append(lambda loss, step: 1 - loss)
    elif variant == "nll_of_minus":
        recipe.objective = lambda output, target, inputs: F.nll_loss(-F.log_softmax(output, 1), target)
    else:

        def turn(model: nn.Module, optimizers: list[Optimizer]) -> None:
            for group in optimizers[0].param_groups:
                group["maximize"] = True

        recipe.after_optimizer.append(turn)
    label(recipe, "loss_sign", variant, onset=(0, 5))


def _size(recipe: Recipe) -> bool:
    """Adaptive optimizers do not feel the scale of the loss."""
    return single(recipe) and not recipe.optimizer.adaptive


@injector("loss_scale", applies=_size)
def loss_scale(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(
        ["sum", "sum", "factor", "accumulated"] if recipe.task != "custom" else ["factor", "accumulated"]
    )
    recipe.loop.clip = None
    if variant == "sum":
        recipe.batch = max(recipe.batch, rng.choice([32, 64]))
        recipe.objective = _summed(recipe, rng)
    elif variant == "factor":
        factor = geometric(40, 1000, strength)
        recipe.on_loss.append(lambda loss, step: loss * factor)
    else:
        recipe.loop.accumulate = round(geometric(24, 48, strength))
        recipe.loop.divide_accumulated = False
        recipe.batch = max(8, recipe.batch // 4) if recipe.style.norm != "batch" else 16
        recipe.steps = max(30, recipe.steps // 6)
        recipe.optimizer.learning_rate *= 1.5
    label(recipe, "loss_scale", variant, onset=(0, 10), also=("learning_rate_too_high",))


def _summed(recipe: Recipe, rng: random.Random) -> Any:
    if recipe.task == "classes":
        module = nn.CrossEntropyLoss(reduction="sum")
        return rng.choice(
            [
                lambda output, target, inputs: module(output, target),
                lambda output, target, inputs: F.nll_loss(F.log_softmax(output, 1), target, reduction="sum"),
            ]
        )
    if recipe.task == "tokens":
        return lambda output, target, inputs: F.cross_entropy(output.flatten(0, 1), target.flatten(), reduction="sum")
    if recipe.task == "binary":
        return lambda output, target, inputs: F.binary_cross_entropy_with_logits(output, target, reduction="sum")
    return rng.choice(
        [
            lambda output, target, inputs: F.mse_loss(output, target, reduction="sum"),
            lambda output, target, inputs: ((output - target) ** 2).sum(),
        ]
    )
