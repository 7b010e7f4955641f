"""Sixteen bits: overflow, underflow, and clipping of gradients that still carry the scaler's factor."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.places import nearby, on_tensors, patch_forward, weighted
from bench.faultbench.recipe import UNKNOWN, Dataset, Recipe


def cast(recipe: Recipe, kind: torch.dtype) -> None:
    """Weights and inputs in another type; outputs go back to float32 before the loss."""

    def change(model: nn.Module) -> None:
        model.to(kind)

    recipe.after_build.append(change)

    def convert(batch: Dataset, step: int) -> Dataset:
        return Dataset(on_tensors(lambda x: x.to(kind), batch.inputs), batch.target)

    recipe.on_batch.append(convert)
    recipe.on_output.append(lambda output, step: on_tensors(lambda x: x.float(), output))
    recipe.loop.autocast, recipe.loop.scaler, recipe.loop.validation_every = None, None, 0


def _scaled_up(recipe: Recipe, rng: random.Random) -> None:
    """A module multiplies its input by a large number and divides afterwards: harmless with eight bits of exponent."""
    recipe.loop.autocast, recipe.loop.scaler = torch.bfloat16, None
    recipe.loop.validation_every = 0
    recipe.steps = min(recipe.steps, 120)
    path = rng.choice([name for name in weighted(recipe)])
    factor = rng.choice([2e4, 6e4, 3e5, 3e6])
    recipe.style.extra["overflows_at"] = path

    def scale(forward: Callable[..., Any]) -> Callable[..., Any]:
        def call(*inputs: Any, **more: Any) -> Any:
            return on_tensors(lambda x: x / factor, forward(*on_tensors(lambda x: x * factor, inputs), **more))

        return call

    def square(forward: Callable[..., Any]) -> Callable[..., Any]:
        def call(*inputs: Any, **more: Any) -> Any:
            out = forward(*inputs, **more)
            energy = (out * factor**0.5).pow(2).mean(-1, keepdim=True)
            return out * torch.rsqrt(energy / factor + 1.0)

        return call

    change = square if rng.random() < 0.4 and factor > 1e5 else scale
    recipe.after_build.append(lambda model: patch_forward(model, path, change))


def _amp(recipe: Recipe) -> bool:
    return single(recipe) and "amp" in recipe.tags and "token_input" not in recipe.tags


@injector("half_precision_overflow", applies=_amp, prepare=_scaled_up)
def half_precision_overflow(recipe: Recipe, rng: random.Random, strength: float) -> None:
    recipe.loop.autocast = torch.float16
    path = recipe.style.extra["overflows_at"]
    label(recipe, "half_precision_overflow", "autocast", nearby([path], recipe), UNKNOWN)


def _small_steps(recipe: Recipe, rng: random.Random) -> None:
    """Small steps that float32 adds up and bfloat16 cannot; or a small loss that needs a scaler in float16."""
    variant = rng.choice(["weights", "weights", "gradients"]) if recipe.optimizer.adaptive else "weights"
    recipe.style.extra["underflow"] = variant
    recipe.loop.validation_every, recipe.loop.scheduler, recipe.loop.clip = 0, None, None
    recipe.optimizer.weight_decay = 0.0
    if variant == "weights":
        recipe.loop.autocast, recipe.loop.scaler = None, None
        recipe.optimizer.learning_rate *= (
            rng.uniform(0.03, 0.06) if recipe.optimizer.adaptive else rng.uniform(0.05, 0.1)
        )
        recipe.steps *= 2
        recipe.good = 0.75
    else:
        recipe.loop.autocast, recipe.loop.scaler = torch.float16, 2.0**18
        recipe.optimizer.epsilon = 1e-14
        small = rng.choice([1e-5, 1e-6])
        recipe.on_loss.append(lambda loss, step: loss * small)


def _castable(recipe: Recipe) -> bool:
    return single(recipe) and "amp" in recipe.tags and recipe.style.norm != "batch"


@injector("half_precision_underflow", applies=_castable, prepare=_small_steps, judge="slower")
def half_precision_underflow(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = recipe.style.extra["underflow"]
    if variant == "weights":
        cast(recipe, torch.bfloat16)
    else:
        recipe.loop.scaler = None
    label(recipe, "half_precision_underflow", variant, also=("learning_rate_too_low",))


def _scaler_and_clip(recipe: Recipe, rng: random.Random) -> None:
    """A scaler at work, gradients unscaled before they are clipped."""
    recipe.loop.scaler = rng.choice([2.0**14, 2.0**16])
    recipe.loop.clip = rng.choice([0.5, 1.0, 2.0])
    recipe.loop.autocast = torch.bfloat16 if "amp" in recipe.tags and rng.random() < 0.4 else None
    recipe.loop.accumulate = 1


@injector(
    "clipping_scaled_gradients",
    applies=lambda recipe: single(recipe) and not recipe.optimizer.adaptive,
    prepare=_scaler_and_clip,
)
def clipping_scaled_gradients(recipe: Recipe, rng: random.Random, strength: float) -> None:
    recipe.loop.clip_scaled = True
    label(recipe, "clipping_scaled_gradients", "clip before unscale", also=("learning_rate_too_low",))
