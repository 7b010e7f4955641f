"""Data out of scale: raw inputs, raw targets, inputs that do not vary."""

from __future__ import annotations

import random

import torch
from torch import Tensor

from bench.faultbench.injectors._base import has, injector, label, single
from bench.faultbench.recipe import Dataset, Recipe, geometric


def _inputs(recipe: Recipe, change) -> None:  # type: ignore[no-untyped-def]
    """Change the first input of training and validation data, and of the untouched data that judges the model."""
    draw = recipe.draw

    def changed(count, generator, style):  # type: ignore[no-untyped-def]
        data = draw(count, generator, style)
        return Dataset((change(data.inputs[0]), *data.inputs[1:]), data.target)

    recipe.draw = changed


@injector("unnormalized_input", applies=has("float_input"))
def unnormalized_input(recipe: Recipe, rng: random.Random, strength: float) -> None:
    vector = "vector_input" in recipe.tags
    variant = rng.choice(["scale", "offset", "pixels"] + (["features", "features"] if vector else []))
    scale = geometric(40, 2e3, strength)
    seed = rng.randrange(1 << 30)

    def change(x: Tensor) -> Tensor:
        if variant == "scale":
            return x * scale
        if variant == "offset":
            return x + scale
        if variant == "pixels":
            return (x.clamp(-3, 3) + 3) / 6 * 255 * max(1.0, scale / 255)
        source = torch.Generator().manual_seed(seed)
        powers = torch.rand(x.shape[1], generator=source)
        return x * scale**powers + (10 * scale**powers) * torch.rand(x.shape[1], generator=source)

    _inputs(recipe, change)
    label(recipe, "unnormalized_input", variant, also=("learning_rate_too_high",) if variant == "scale" else ())


def _numbers(recipe: Recipe) -> bool:
    return recipe.task == "regression" and "self_target" not in recipe.tags


@injector("unscaled_target", applies=_numbers)
def unscaled_target(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["scale", "offset", "prices", "prices", "tiny"])
    scale = geometric(50, 3e4, strength)
    draw = recipe.draw

    def changed(count, generator, style):  # type: ignore[no-untyped-def]
        data = draw(count, generator, style)
        target = {
            "scale": data.target * scale,
            "offset": data.target + scale,
            "prices": (data.target + 5) * scale,
            "tiny": data.target / scale**0.8,
        }[variant]
        return Dataset(data.inputs, target)

    recipe.draw = changed
    label(recipe, "unscaled_target", variant)


@injector("constant_input", applies=single)
def constant_input(recipe: Recipe, rng: random.Random, strength: float) -> None:
    tokens = "token_input" in recipe.tags
    variant = rng.choice(["unknown_token"] if tokens else ["zeros", "integer_division", "one_sample", "most_features"])
    value = rng.choice([0.0, 1.0, -0.5])
    draw = recipe.draw

    def flat(x: Tensor) -> Tensor:
        if variant == "unknown_token":
            return torch.full_like(x, 1)
        if variant == "zeros":
            return torch.full_like(x, value)
        if variant == "integer_division":
            return (x.clamp(-3, 3) + 3).mul(42).to(torch.uint8).div(255, rounding_mode="floor").float()
        if variant == "one_sample":
            return x[:1].expand_as(x).clone()
        kept = max(1, int(x[0].numel() * 0.08 * (1 - strength)))
        out = torch.full_like(x, value)
        out.flatten(1)[:, :kept] = x.flatten(1)[:, :kept]
        return out

    def changed(count, generator, style):  # type: ignore[no-untyped-def]
        data = draw(count, generator, style)
        first = tuple(flat(part) for part in data.inputs) if tokens else (flat(data.inputs[0]), *data.inputs[1:])
        if "pairs" in recipe.tags:
            first = tuple(flat(part) for part in data.inputs)
        return Dataset(first, data.target)

    recipe.draw = changed
    label(recipe, "constant_input", variant)
