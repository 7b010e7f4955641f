"""Labels and their order: shuffled against the inputs, sorted, or nearly all of one class."""

from __future__ import annotations

import random

import torch
from torch import Tensor

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.recipe import Dataset, Recipe, geometric


def _labelled(recipe: Recipe) -> bool:
    return single(recipe) and "self_target" not in recipe.tags


@injector("uninformative_labels", applies=_labelled)
def uninformative_labels(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["permuted", "misaligned", "random", "joined_badly"])
    seed, shift = rng.randrange(1 << 30), rng.randrange(1, 9)
    recipe.samples = max(recipe.samples, 1024)
    part = 0.9 + 0.1 * strength

    def change(data: Dataset) -> Dataset:
        source = torch.Generator().manual_seed(seed)
        target, count = data.target.clone(), len(data.target)
        if variant == "misaligned":
            target = target.roll(shift, 0)
        elif variant == "random" and not target.is_floating_point():
            target = torch.randint(0, recipe.classes, target.shape, generator=source)
        elif variant == "joined_badly":
            moved = torch.randperm(count, generator=source)[: int(count * part)]
            target[moved] = target[moved.roll(1)]
        else:
            target = target[torch.randperm(count, generator=source)]
        return Dataset(data.inputs, target)

    recipe.on_train_data.append(change)
    recipe.on_validation_data.append(change)
    label(recipe, "uninformative_labels", variant)


def _sortable(recipe: Recipe) -> bool:
    return _labelled(recipe) and recipe.task != "tokens" and not recipe.tags & {"dense_target"}


@injector("unshuffled_data", applies=_sortable, judge="clean")
def unshuffled_data(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["sorted", "blocks"])
    recipe.samples = min(recipe.samples, max(4 * recipe.batch, recipe.steps * recipe.batch // 3))

    def order(data: Dataset, batch: int, rounds: int, generator: torch.Generator) -> list[Tensor]:
        key = data.target.reshape(len(data), -1)[:, 0]
        if variant == "blocks" and not key.is_floating_point():
            groups = [torch.nonzero(key == value).flatten() for value in key.unique()]
            picked = torch.randperm(len(groups), generator=generator)
            rows = torch.cat([groups[int(index)] for index in picked])
        else:
            rows = key.argsort(stable=True)
        pieces = [rows[i : i + batch] for i in range(0, len(rows) - batch + 1, batch)]
        return [pieces[i % len(pieces)] for i in range(rounds)]

    recipe.order = order
    label(recipe, "unshuffled_data", variant)


def _harder(recipe: Recipe, rng: random.Random) -> None:
    """Noise on the inputs, so that the rare class cannot be told at a glance; the twin has it too."""
    draw, spread = recipe.draw, rng.uniform(1.0, 1.6)

    def noisy(count, generator, style):  # type: ignore[no-untyped-def]
        data = draw(count, generator, style)
        inputs = tuple(
            part + spread * torch.randn(part.shape, generator=generator) if part.is_floating_point() else part
            for part in data.inputs
        )
        return Dataset(inputs, data.target)

    recipe.draw = noisy


def _classes(recipe: Recipe) -> bool:
    return recipe.task in ("classes", "binary") and not recipe.tags & {"dense_target"}


@injector("class_imbalance", applies=_classes, prepare=_harder, judge="clean")
def class_imbalance(recipe: Recipe, rng: random.Random, strength: float) -> None:
    share = 1 - geometric(0.06, 0.01, strength)
    common = rng.randrange(max(2, recipe.classes))

    def skew(data: Dataset) -> Dataset:
        key = data.target.reshape(len(data), -1)[:, 0].long()
        often, rare = torch.nonzero(key == common).flatten(), torch.nonzero(key != common).flatten()
        count = len(data) // 2
        few = rare[: max(1, int(count * (1 - share)))]
        many = often[torch.arange(count - len(few)) % len(often)]
        return data.pick(torch.cat([many, few]))

    recipe.samples *= 2
    recipe.on_train_data.append(skew)
    recipe.on_validation_data.append(skew)
    label(recipe, "class_imbalance", f"{share:.2f}")
