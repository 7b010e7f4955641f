"""Healthy runs that look alarming: each changes a healthy recipe in a way that is fine, and stays labelled "none"."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer, lr_scheduler

from bench.faultbench.places import patch_forward
from bench.faultbench.recipe import Dataset, Label, Recipe


@dataclass(frozen=True)
class Trick:
    """A healthy variant."""

    applies: Callable[[Recipe], bool]
    change: Callable[[Recipe, random.Random], None]


REGISTRY: dict[str, Trick] = {}
Change = Callable[[Recipe, random.Random], None]


def load() -> dict[str, Trick]:
    """Tricky healthy variants by name."""
    from bench.faultbench import healthy_models  # registers the second half

    assert healthy_models
    return dict(sorted(REGISTRY.items()))


def trick(applies: Callable[[Recipe], bool] = lambda recipe: True) -> Callable[[Change], Change]:
    """Register a healthy variant under the function's name."""

    def register(function: Change) -> Change:
        def change(recipe: Recipe, rng: random.Random) -> None:
            function(recipe, rng)
            recipe.label = Label("none", variant=function.__name__)

        REGISTRY[function.__name__] = Trick(applies, change)
        return function

    return register


def single(recipe: Recipe) -> bool:
    return recipe.phases is None


def float_classes(recipe: Recipe) -> bool:
    return single(recipe) and recipe.task == "classes" and "float_input" in recipe.tags


@trick(single)
def accumulation(recipe: Recipe, rng: random.Random) -> None:
    recipe.loop.accumulate = rng.choice([3, 4])
    recipe.batch = max(8, recipe.batch // 2)
    recipe.steps = int(recipe.steps * 0.8)


@trick(single)
def converged(recipe: Recipe, rng: random.Random) -> None:
    """Trains long past the point where anything is left to learn, on few samples without noise."""
    recipe.steps = int(recipe.steps * 2.5)
    recipe.style.dropout = 0.0
    recipe.loop.accumulate = 1
    recipe.loop.scheduler = lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, recipe.steps)


@trick(single)
def cosine_to_zero(recipe: Recipe, rng: random.Random) -> None:
    recipe.loop.scheduler = lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, T_max=recipe.steps, eta_min=0.0)


@trick(single)
def warm_up(recipe: Recipe, rng: random.Random) -> None:
    warm = recipe.steps // 5
    peak = rng.choice([1.0, 1.5])
    recipe.loop.scheduler = lambda optimizer: lr_scheduler.LambdaLR(
        optimizer,
        lambda step: peak * min((step + 1) / warm, 0.5 * (1 + math.cos(math.pi * step / recipe.steps)) + 0.05),
    )


@trick(single)
def step_decay(recipe: Recipe, rng: random.Random) -> None:
    first, second = int(recipe.steps * 0.6), int(recipe.steps * 0.8)
    recipe.loop.scheduler = lambda optimizer: lr_scheduler.MultiStepLR(optimizer, [first, second], gamma=0.1)


@trick(single)
def one_cycle(recipe: Recipe, rng: random.Random) -> None:
    rate = recipe.optimizer.learning_rate * 1.5
    recipe.loop.scheduler = lambda optimizer: lr_scheduler.OneCycleLR(
        optimizer, max_lr=rate, total_steps=recipe.steps + 1, cycle_momentum=False
    )


@trick(single)
def scaler_skips(recipe: Recipe, rng: random.Random) -> None:
    """The scaler starts far too high and skips its first steps."""
    recipe.loop.scaler = 2.0 ** rng.choice([118, 122, 126])
    recipe.loop.accumulate = 1
    recipe.loop.scheduler = None


@trick(lambda recipe: single(recipe) and "amp" in recipe.tags)
def half_precision(recipe: Recipe, rng: random.Random) -> None:
    recipe.loop.autocast = rng.choice([torch.float16, torch.bfloat16])
    recipe.loop.scaler = 2.0**12 if recipe.loop.autocast == torch.float16 else None
    recipe.steps = int(recipe.steps * 0.8)


@trick(float_classes)
def noisy_labels(recipe: Recipe, rng: random.Random) -> None:
    """A fifth of the labels is wrong: the loss has a floor, and the rest is learned."""
    share, seed = rng.uniform(0.08, 0.2), rng.randrange(1 << 30)

    def spoil(data: Dataset) -> Dataset:
        source = torch.Generator().manual_seed(seed)
        wrong = torch.rand(len(data), generator=source) < share
        other = torch.randint(0, recipe.classes, (len(data),), generator=source)
        return Dataset(data.inputs, torch.where(wrong, other, data.target))

    recipe.on_train_data.append(spoil)
    recipe.good = 0.6


@trick(lambda recipe: single(recipe) and recipe.task == "regression" and "self_target" not in recipe.tags)
def noisy_targets(recipe: Recipe, rng: random.Random) -> None:
    spread, seed = rng.uniform(0.3, 0.6), rng.randrange(1 << 30)

    def spoil(data: Dataset) -> Dataset:
        source = torch.Generator().manual_seed(seed)
        return Dataset(data.inputs, data.target + spread * torch.randn(data.target.shape, generator=source))

    recipe.on_train_data.append(spoil)
    recipe.good = 0.65


@trick(float_classes)
def imbalanced_and_learned(recipe: Recipe, rng: random.Random) -> None:
    share, seed = rng.uniform(0.75, 0.88), rng.randrange(1 << 30)

    def skew(data: Dataset) -> Dataset:
        source = torch.Generator().manual_seed(seed)
        common = torch.rand(len(data), generator=source) < (share if recipe.classes > 2 else share - 0.1)
        rows = torch.nonzero((data.target == 0) | ~common).flatten()
        return data.pick(rows)

    recipe.samples *= 2
    recipe.on_train_data.append(skew)


@trick(lambda recipe: single(recipe) and recipe.style.norm != "batch" and recipe.loop.accumulate == 1)
def small_batch(recipe: Recipe, rng: random.Random) -> None:
    recipe.batch = rng.choice([4, 6])
    recipe.steps = int(recipe.steps * 1.5)
    recipe.optimizer.learning_rate *= 0.5
    recipe.good = 0.6


@trick(single)
def clipping_active(recipe: Recipe, rng: random.Random) -> None:
    recipe.loop.clip = rng.choice([0.2, 0.5])
    if not recipe.optimizer.adaptive:
        recipe.optimizer.learning_rate *= 1.5


@trick(lambda recipe: single(recipe) and "dropout" in recipe.knobs and recipe.task in ("classes", "binary"))
def strong_dropout(recipe: Recipe, rng: random.Random) -> None:
    recipe.style.dropout = rng.choice([0.4, 0.5])
    recipe.good = 0.6


@trick(single)
def weight_decay(recipe: Recipe, rng: random.Random) -> None:
    recipe.optimizer.weight_decay = {"adamw": 0.1, "sgd": 1e-3}.get(recipe.optimizer.name, 1e-4)


@trick(lambda recipe: single(recipe) and not recipe.optimizer.adaptive)
def edge_of_stability(recipe: Recipe, rng: random.Random) -> None:
    """A bold learning rate: the loss is bumpy and falls."""
    recipe.optimizer.learning_rate *= rng.uniform(2.0, 3.0)


@trick(lambda recipe: single(recipe) and recipe.optimizer.adaptive)
def bold_adam(recipe: Recipe, rng: random.Random) -> None:
    recipe.optimizer.learning_rate *= rng.uniform(1.8, 2.5)


@trick(lambda recipe: single(recipe) and not recipe.optimizer.adaptive and recipe.optimizer.momentum > 0)
def high_momentum(recipe: Recipe, rng: random.Random) -> None:
    recipe.optimizer.momentum = 0.95
    recipe.optimizer.learning_rate *= 0.5


@trick(lambda recipe: single(recipe) and not recipe.optimizer.adaptive and recipe.task == "classes")
def summed_loss(recipe: Recipe, rng: random.Random) -> None:
    """The loss is summed, and the learning rate was chosen for that."""
    recipe.objective = lambda output, target, inputs: F.cross_entropy(output, target, reduction="sum")
    recipe.optimizer.learning_rate /= recipe.batch
    recipe.optimizer.weight_decay = 0.0


@trick(lambda recipe: single(recipe) and recipe.optimizer.adaptive)
def weighted_loss(recipe: Recipe, rng: random.Random) -> None:
    """A constant factor that Adam does not feel."""
    factor = rng.choice([0.1, 20.0])
    recipe.on_loss.append(lambda loss, step: loss * factor)


@trick(lambda recipe: single(recipe) and recipe.task == "regression")
def negative_density(recipe: Recipe, rng: random.Random) -> None:
    """The negative log-density of a normal whose spread is learned falls below zero as it should."""

    def add(model: nn.Module) -> None:
        model.log_spread = nn.Parameter(torch.zeros(1))
        patch_forward(model, "", lambda forward: lambda *inputs: _with_spread(forward(*inputs), model.log_spread))

    def density(output: Any, target: Tensor, inputs: Any) -> Tensor:
        prediction, log_spread = output
        return (0.5 * ((target - prediction) / log_spread.exp()) ** 2 + log_spread).mean()

    recipe.after_build.append(add)
    recipe.objective = density
    recipe.predict = lambda output: output[0]
    recipe.loop.autocast = None
    recipe.good = 0.6


def _with_spread(output: Tensor, log_spread: Tensor) -> tuple[Tensor, Tensor]:
    return output, log_spread


@trick(lambda recipe: single(recipe) and recipe.loop.accumulate == 1)
def validated_often(recipe: Recipe, rng: random.Random) -> None:
    recipe.loop.validation_every = 5
    recipe.samples = max(recipe.samples, 4096 if "images" not in recipe.tags else 1024)


@trick(single)
def two_parameter_groups(recipe: Recipe, rng: random.Random) -> None:
    """Two parameter groups with their own learning rates."""

    def groups(model: nn.Module) -> list[dict[str, Any]]:
        parts = [parameter for parameter in model.parameters()]
        half = max(1, len(parts) // 2)
        slower = {"params": parts[:half], "lr": recipe.optimizer.learning_rate * 0.5}
        return [slower, {"params": parts[half:]}] if parts[half:] else [slower]

    recipe.parameters = groups


@trick(single)
def averaged_weights(recipe: Recipe, rng: random.Random) -> None:
    """An exponential average of the weights is kept beside the model and never trained."""
    kept: dict[str, Tensor] = {}

    def average(model: nn.Module, optimizers: list[Optimizer], step: int) -> None:
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                kept[name] = kept.get(name, parameter.detach().clone()).lerp(parameter.detach(), 0.05)

    recipe.before_round.append(average)
