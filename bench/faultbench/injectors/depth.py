"""Depth without help: each layer shrinks the signal or its gradient a little, or grows it."""

from __future__ import annotations

import random

import torch
from torch import nn

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.places import is_weighted, nearby, parents, run_order, weighted
from bench.faultbench.recipe import Recipe, geometric


def _deep(recipe: Recipe) -> bool:
    return single(recipe) and {"depth", "activation"} <= recipe.knobs and "plain_stack" in recipe.tags


def _everything(recipe: Recipe) -> tuple[str, ...]:
    """Every module path of the trunk, and the root."""
    paths = weighted(recipe)[:-1]
    return tuple(dict.fromkeys((*nearby(paths, recipe), "")))


@injector("vanishing_depth", applies=_deep)
def vanishing_depth(recipe: Recipe, rng: random.Random, strength: float) -> None:
    style = recipe.style
    style.norm, style.residual, style.dropout = "none", False, 0.0
    style.activation = rng.choice(["sigmoid", "sigmoid", "tanh", "relu"])
    low, high = {"sigmoid": (5, 10), "tanh": (12, 20), "relu": (10, 16)}[style.activation]
    style.depth = round(geometric(low, high, strength))
    if recipe.family == "autoencoder":
        style.depth = max(4, style.depth // 2 + 1)
    also = ("init_too_small",) if style.activation != "sigmoid" else ("saturating_activation",)
    recipe.steps = min(recipe.steps, 150)
    label(recipe, "vanishing_depth", f"{style.activation} {style.depth}", _everything(recipe), also=also)


@injector("exploding_depth", applies=lambda recipe: _deep(recipe) or recipe.family == "rnn_cell")
def exploding_depth(recipe: Recipe, rng: random.Random, strength: float) -> None:
    style = recipe.style
    recipe.loop.clip = None
    recipe.steps = min(recipe.steps, 140)
    if recipe.family == "rnn_cell":
        style.length = 24
        gain = geometric(2.5, 6.0, strength)
        variant = f"recurrent gain {gain:.1f}"
    else:
        style.norm, style.dropout = "none", 0.0
        style.activation = rng.choice(["relu", "leaky_relu", "elu", "gelu"])
        style.depth = rng.choice([8, 10, 12])
        if recipe.family == "autoencoder":
            style.depth = 5
        style.residual = rng.random() < 0.4
        gain = geometric(1.5, 3.0, strength)
        variant = f"{style.activation} {style.depth} gain {gain:.1f}"
    order = [name for name, module in run_order(recipe) if is_weighted(module)]

    def grow(model: nn.Module) -> None:
        for name in order[:-1]:
            module = model.get_submodule(name)
            with torch.no_grad():
                if recipe.family == "rnn_cell":
                    for parameter in module.parameters():
                        if parameter.ndim > 1:
                            nn.init.orthogonal_(parameter, gain)
                elif module.weight.ndim > 1:
                    nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                    module.weight.mul_(gain)

    recipe.after_build.append(grow)
    label(
        recipe,
        "exploding_depth",
        variant,
        _everything(recipe) + parents(order[0]),
        also=("init_too_large",),
        onset=(0, 1),
    )
