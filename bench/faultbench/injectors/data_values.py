"""Bad numbers in the data: non-finite inputs, impossible targets, one extreme batch, a shift half way."""

from __future__ import annotations

import math
import random

import torch
from torch import Tensor

from bench.faultbench.injectors._base import has, injector, label, single
from bench.faultbench.recipe import Dataset, Label, Recipe, geometric


def _replace(data: Dataset, first: Tensor) -> Dataset:
    return Dataset((first, *data.inputs[1:]), data.target)


def _watch_onset(recipe: Recipe, answer: Label, bad) -> None:  # type: ignore[no-untyped-def]
    """Set the onset to the first step whose batch is bad."""
    found: list[int] = []

    def look(batch: Dataset, step: int) -> Dataset:
        if not found and bad(batch):
            found.append(step)
            answer.onset = (step, step)
        return batch

    recipe.on_batch.append(look)


@injector("nan_in_input", applies=has("float_input"))
def nan_in_input(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["rows", "batch", "feature", "late"])
    answer = label(recipe, "nan_in_input", variant)
    value = rng.choice([math.nan, math.inf, -math.inf])
    when = rng.randrange(5, int(recipe.steps * 0.8))
    if variant == "rows":
        count = round(geometric(1, 8, strength))
        seed = rng.randrange(1 << 30)

        def rows(data: Dataset) -> Dataset:
            source = torch.Generator().manual_seed(seed)
            x = data.inputs[0].clone()
            chosen = torch.randperm(len(x), generator=source)[:count]
            flat = x.flatten(1)
            flat[chosen, int(torch.randint(0, flat.shape[1], (1,), generator=source))] = value
            return _replace(data, flat.view_as(x))

        recipe.samples = min(recipe.samples, recipe.steps * recipe.batch // 2)
        recipe.on_train_data.append(rows)
    else:

        def change(batch: Dataset, step: int) -> Dataset:
            if step < when or (variant == "batch" and step > when):
                return batch
            x = batch.inputs[0].clone()
            if variant == "feature":
                x.flatten(1)[:, step % x[0].numel()] = value
            else:
                x[: max(1, int(len(x) * strength))] = value
            return _replace(batch, x)

        recipe.on_batch.append(change)
    _watch_onset(recipe, answer, lambda batch: not bool(torch.isfinite(batch.inputs[0]).all()))


@injector("invalid_target", applies=lambda recipe: single(recipe) and "pairs" not in recipe.tags)
def invalid_target(recipe: Recipe, rng: random.Random, strength: float) -> None:
    ids = recipe.task in ("classes", "tokens")
    if ids:
        variant = rng.choice(["id_too_large", "negative_id", "all_ignored"])
    elif recipe.task == "binary":
        variant = rng.choice(["nan", "not_probabilities", "minus_one"])
    else:
        variant = rng.choice(["nan", "inf", "nan_rows"])
    when = 0 if rng.random() < 0.3 else rng.randrange(1, int(recipe.steps * 0.7))
    answer = label(recipe, "invalid_target", variant)
    if variant in ("not_probabilities", "minus_one"):
        factor = geometric(3, 255, strength)
        recipe.on_train_data.append(
            lambda data: Dataset(data.inputs, data.target * factor if variant[0] == "n" else data.target * 2 - 1)
        )
        answer.also = ("unscaled_target", "loss_sign") if variant[0] == "n" else ("loss_sign",)
        return
    recipe.may_raise = ids and variant != "all_ignored"

    def change(batch: Dataset, step: int) -> Dataset:
        if step < when:
            return batch
        target = batch.target.clone()
        some = target.flatten()[: max(1, int(target.numel() * 0.5 * strength))]
        if variant == "id_too_large":
            some[:] = recipe.classes + rng.randrange(3)
        elif variant == "negative_id":
            some[:] = -1
        elif variant == "all_ignored":
            target[:] = -100
        else:
            some[:] = math.inf if variant == "inf" else math.nan
        return Dataset(batch.inputs, target)

    answer.onset = (when, when)
    recipe.on_batch.append(change)


def _exposed(recipe: Recipe) -> bool:
    """A norm near the input would undo an outlier of the inputs; one of the targets always arrives."""
    if "float_input" not in recipe.tags:
        return False
    bare = recipe.style.norm == "none" and not recipe.tags & {"attention", "residual", "recurrent", "latent"}
    return (bare and recipe.family != "state_space") or _has_free_targets(recipe)


def _has_free_targets(recipe: Recipe) -> bool:
    return recipe.task == "regression" and "self_target" not in recipe.tags


@injector("outlier_batch", applies=_exposed, judge="window")
def outlier_batch(recipe: Recipe, rng: random.Random, strength: float) -> None:
    inside = recipe.style.norm == "none" and not recipe.tags & {"attention", "residual", "recurrent"}
    options = ["batch", "batch", "row"] if inside and recipe.family != "state_space" else []
    variant = rng.choice(options + (["target"] if _has_free_targets(recipe) else []))
    # A stale second moment stalls an adaptive optimizer, which shows only while there is something left to learn.
    when = rng.randrange(8, 16) if recipe.optimizer.adaptive else rng.randrange(12, int(recipe.steps * 0.6))
    factor = geometric(300, 1e5, strength) if recipe.optimizer.adaptive else geometric(100, 2e4, strength)
    recipe.loop.clip, recipe.loop.scaler, recipe.loop.autocast = None, None, None
    recipe.loop.accumulate = 1
    label(recipe, "outlier_batch", variant, onset=(when, when), also=("missing_gradient_clipping",))

    def change(batch: Dataset, step: int) -> Dataset:
        if step != when:
            return batch
        if variant == "target":
            return Dataset(batch.inputs, batch.target * factor)
        x = batch.inputs[0].clone()
        rows = 2 if variant == "row" else len(x)
        x[:rows] *= factor * (1 if variant == "batch" else 4)
        return _replace(batch, x)

    recipe.on_batch.append(change)


@injector("input_shift", applies=has("float_input"), judge="window")
def input_shift(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["scale", "scale", "offset", "shrink", "features"])
    when = rng.randrange(int(recipe.steps * 0.3), int(recipe.steps * 0.65))
    scale = geometric(8, 255, strength)
    also = ("unnormalized_input",) if variant in ("scale", "offset") else ()
    label(recipe, "input_shift", variant, onset=(when, when), also=also)

    def change(batch: Dataset, step: int) -> Dataset:
        if step < when:
            return batch
        x = batch.inputs[0]
        if variant == "scale":
            x = x * scale
        elif variant == "offset":
            x = x + scale
        elif variant == "shrink":
            x = x / scale**2 if strength > 0.3 else x * 0.02
        else:
            # Raw pixels instead of standardized ones: other offset, other scale, negative values gone.
            x = (x.clamp(-3, 3) + 3) * scale
        return _replace(batch, x)

    recipe.on_batch.append(change)
