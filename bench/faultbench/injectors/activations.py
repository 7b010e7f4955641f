"""Activations: saturated, dead, missing; and dropout that leaves nothing."""

from __future__ import annotations

import random

import torch
from torch import nn

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.places import hidden, is_weighted, nearby, run_order, weighted
from bench.faultbench.recipe import Recipe, geometric


def _acts(recipe: Recipe) -> bool:
    return single(recipe) and {"activation", "pre_scale"} <= recipe.knobs


@injector(
    "saturating_activation",
    applies=lambda recipe: (
        single(recipe) and ((_acts(recipe) and "plain_stack" in recipe.tags) or "attention_scale" in recipe.knobs)
    ),
)
def saturating_activation(recipe: Recipe, rng: random.Random, strength: float) -> None:
    style = recipe.style
    if "attention_scale" in recipe.knobs:
        style.extra["attention_scale"] = geometric(60, 600, strength)
        names = [name for name, _ in run_order(recipe)]
        places = tuple(name for name in names if "attn" in name or "mha" in name)
        holders = tuple(name for name in names if any(place.startswith(f"{name}.") for place in places))
        label(recipe, "saturating_activation", "softmax", (*places, *holders), (0, 10), also=("init_too_large",))
        return
    style.norm = "none"
    style.activation = rng.choice(["tanh", "sigmoid", "hardtanh", "sigmoid"])
    style.depth += rng.choice([1, 2])
    variant = rng.choice(["pre_scale", "bias", "weights"])
    paths = hidden(recipe)
    if variant == "pre_scale":
        style.pre_scale = geometric(30, 300, strength)
        paths = hidden(recipe)
    else:
        chosen = paths if rng.random() < 0.6 else paths[-2:]
        size = geometric(8, 40, strength) * (40 if variant == "weights" else 1)

        def push(model: nn.Module) -> None:
            with torch.no_grad():
                for name in chosen:
                    module = model.get_submodule(name)
                    if variant == "bias" and module.bias is not None:
                        module.bias.copy_(size * torch.randn_like(module.bias).sign())
                    else:
                        module.weight.mul_(size / 4)

        recipe.after_build.append(push)
        paths = chosen
    places = (*nearby(paths, recipe), "")
    label(
        recipe,
        "saturating_activation",
        f"{style.activation} {variant}",
        places,
        also=("init_too_large",) if variant != "pre_scale" else (),
    )


@injector("dying_relu", applies=lambda recipe: _acts(recipe) and "plain_stack" in recipe.tags)
def dying_relu(recipe: Recipe, rng: random.Random, strength: float) -> None:
    style = recipe.style
    style.activation, style.norm, style.residual = rng.choice(["relu", "relu_inplace"]), "none", False
    style.dropout = 0.0
    paths = hidden(recipe)
    chosen = paths if rng.random() < 0.4 else [rng.choice(paths)]
    depth = geometric(3.0, 20.0, strength)

    def sink(model: nn.Module) -> None:
        with torch.no_grad():
            for name in chosen:
                module = model.get_submodule(name)
                if getattr(module, "bias", None) is not None:
                    module.bias.fill_(-depth)
                else:
                    module.weight.abs_().neg_()

    recipe.after_build.append(sink)
    label(recipe, "dying_relu", f"bias -{depth:.1f}", (*nearby(chosen, recipe), ""), also=("init_too_small",))


@injector("missing_nonlinearity", applies=lambda recipe: _acts(recipe) and "nonlinear_task" in recipe.tags)
def missing_nonlinearity(recipe: Recipe, rng: random.Random, strength: float) -> None:
    style = recipe.style
    style.activation = "identity"
    style.norm = "none" if style.norm == "layer" else style.norm
    style.depth = rng.choice([2, 3, 4])
    label(recipe, "missing_nonlinearity", f"depth {style.depth}", (*nearby(weighted(recipe), recipe), ""))


@injector("excessive_dropout", applies=lambda recipe: single(recipe) and "dropout" in recipe.knobs, judge="slower")
def excessive_dropout(recipe: Recipe, rng: random.Random, strength: float) -> None:
    recipe.style.dropout = 1 - geometric(0.12, 0.02, strength)
    order = run_order(recipe)
    places = [name for name, module in order if isinstance(module, (nn.Dropout, nn.Dropout2d))]
    holders = [name for name, _ in order if any(place.startswith(f"{name}.") for place in places)]
    functional = [name for name, module in order if not is_weighted(module)] if not places else []
    label(recipe, "excessive_dropout", f"p {recipe.style.dropout:.2f}", (*places, *holders, *functional, ""))
