"""Training is fine and validation is not."""

from __future__ import annotations

import random

import torch

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.injectors.data_order import _harder
from bench.faultbench.recipe import Dataset, Recipe, geometric


def _noisy_and_validated(recipe: Recipe, rng: random.Random) -> None:
    _harder(recipe, rng)
    recipe.loop.validation_every = 10
    recipe.loop.scheduler = None
    recipe.style.dropout = 0.0
    recipe.samples = 4096 if "images" not in recipe.tags else 1024


def _judged(recipe: Recipe) -> bool:
    return (
        single(recipe)
        and recipe.task in ("classes", "binary", "regression")
        and not recipe.tags & {"dense_target", "self_target"}
    )


@injector("overfitting", applies=_judged, prepare=_noisy_and_validated, judge="overfit")
def overfitting(recipe: Recipe, rng: random.Random, strength: float) -> None:
    recipe.batch = min(recipe.batch, 16)
    recipe.samples = max(recipe.batch, round(geometric(64, 16, strength)))
    recipe.optimizer.weight_decay = 0.0
    label(recipe, "overfitting", f"{recipe.samples} samples", onset=(0, recipe.steps))


def _validated(recipe: Recipe, rng: random.Random) -> None:
    recipe.loop.validation_every = rng.choice([10, 15, 20])
    if "dropout" in recipe.knobs and rng.random() < 0.3:
        recipe.style.dropout = 0.5
        recipe.style.extra["mode"] = True


@injector(
    "validation_mismatch",
    applies=lambda recipe: single(recipe) and recipe.task != "custom",
    prepare=_validated,
    judge="validation",
)
def validation_mismatch(recipe: Recipe, rng: random.Random, strength: float) -> None:
    every = recipe.loop.validation_every
    if recipe.style.extra.get("mode"):
        recipe.loop.validation_mode = "train"
        recipe.style.dropout = 0.6 + 0.2 * strength
        label(recipe, "validation_mismatch", "train mode", onset=(0, every))
        return
    tokens = "token_input" in recipe.tags
    variant = "vocabulary" if tokens else rng.choice(["scale", "offset", "pixels", "shrunk", "reversed"])
    scale = geometric(5, 200, strength)

    def other(data: Dataset) -> Dataset:
        if variant == "vocabulary":
            inputs = tuple((part + 7) % (int(part.max()) + 1) for part in data.inputs)
            return Dataset(inputs, data.target)
        x = data.inputs[0]
        x = {
            "scale": x * scale,
            "offset": x + scale,
            "pixels": (x.clamp(-3, 3) + 3) / 6 * 255,
            "shrunk": x / scale,
            "reversed": torch.flip(x, dims=[1 if x.ndim == 2 else 2]) * -1,
        }[variant]
        return Dataset((x, *data.inputs[1:]), data.target)

    recipe.on_validation_data.append(other)
    label(recipe, "validation_mismatch", variant, onset=(0, every))
