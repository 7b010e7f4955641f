"""First weights: too large, too small, all alike."""

from __future__ import annotations

import random

import torch
from torch import nn

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.places import RECURRENT, nearby, parents, weighted
from bench.faultbench.recipe import Recipe, geometric


def _scaled_by_weights(recipe: Recipe) -> bool:
    """No normalization that would undo the scale of a weight."""
    return single(recipe) and recipe.style.norm == "none" and "residual" not in recipe.tags


def _matrices(module: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in module.parameters(recurse=False) if parameter.ndim > 1]


def _change(recipe: Recipe, chosen: list[str], function) -> None:  # type: ignore[no-untyped-def]
    def change(model: nn.Module) -> None:
        with torch.no_grad():
            for path in chosen:
                for parameter in _matrices(model.get_submodule(path)):
                    function(parameter)

    recipe.after_build.append(change)


@injector("init_too_large", applies=_scaled_by_weights)
def init_too_large(recipe: Recipe, rng: random.Random, strength: float) -> None:
    paths = weighted(recipe)
    variant = rng.choice(["all", "one", "unit_normal", "head", "first"])
    chosen = {"all": paths, "one": [rng.choice(paths)], "unit_normal": paths, "head": paths[-1:], "first": paths[:1]}[
        variant
    ]
    factor = geometric(8, 40, strength) if variant == "all" else geometric(40, 400, strength)
    spread = geometric(1.0, 5.0, strength)
    recipe.loop.clip = None
    if variant == "unit_normal":
        _change(recipe, chosen, lambda parameter: parameter.normal_(0, spread))
    else:
        _change(recipe, chosen, lambda parameter: parameter.mul_(factor))
    label(
        recipe,
        "init_too_large",
        variant,
        (*nearby(chosen, recipe), *([""] if len(chosen) > 1 else [])),
        also=("exploding_depth",) if len(chosen) > 2 else (),
    )


@injector("init_too_small", applies=lambda recipe: _scaled_by_weights(recipe) and "attention" not in recipe.tags)
def init_too_small(recipe: Recipe, rng: random.Random, strength: float) -> None:
    if {"depth", "plain_stack"} <= recipe.knobs | recipe.tags:
        recipe.style.depth = rng.choice([4, 5, 6]) if recipe.family != "autoencoder" else 3
    paths = weighted(recipe)
    variant = rng.choice(["all", "normal"])
    factor = geometric(0.08, 1e-3, strength)
    if variant == "normal":
        _change(recipe, paths, lambda parameter: parameter.normal_(0, factor * 0.1))
    else:
        _change(recipe, paths, lambda parameter: parameter.mul_(factor))
    label(recipe, "init_too_small", variant, (*nearby(paths, recipe), ""), also=("vanishing_depth",))


@injector("symmetric_init", applies=single)
def symmetric_init(recipe: Recipe, rng: random.Random, strength: float) -> None:
    paths = weighted(recipe)
    variant = rng.choice(["zeros", "zeros", "constant", "ones_scaled"])
    kinds = "recurrent" if "recurrent" in recipe.tags else "plain"
    chosen = paths if kinds == "recurrent" or rng.random() < 0.6 else paths[-2:]
    value = rng.choice([0.01, 0.05, 0.1, 0.5])

    def flatten(model: nn.Module) -> None:
        with torch.no_grad():
            for path in chosen:
                module = model.get_submodule(path)
                everything = isinstance(module, RECURRENT)
                for parameter in module.parameters(recurse=False):
                    if parameter.ndim > 1:
                        columns = parameter[0].numel()
                        parameter.fill_({"zeros": 0.0, "constant": value, "ones_scaled": 1 / columns}[variant])
                    elif everything:
                        parameter.zero_()
                if getattr(module, "bias", None) is not None and isinstance(module.bias, torch.Tensor):
                    module.bias.zero_()

    recipe.after_build.append(flatten)
    places = (*nearby(chosen, recipe), *(place for path in chosen for place in parents(path)), "")
    label(
        recipe,
        "symmetric_init",
        variant,
        tuple(dict.fromkeys(places)),
        also=("init_too_small",) if variant == "zeros" else (),
    )
