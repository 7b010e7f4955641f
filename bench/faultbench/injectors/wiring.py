"""Parameters that do not take part: not in the optimizer, frozen, never reached."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.places import around, hidden, parents, patch_forward, weighted
from bench.faultbench.recipe import Recipe


def _owner(model: nn.Module, path: str) -> tuple[nn.Module, str]:
    """The module that holds ``path`` as an attribute, and the attribute's name."""
    above, _, name = path.rpartition(".")
    return model.get_submodule(above), name


def _group(recipe: Recipe, rng: random.Random, share: float) -> list[str]:
    """Some weighted modules next to each other, about ``share`` of all."""
    paths = weighted(recipe)
    count = max(1, min(len(paths) - 1, round(len(paths) * share)))
    start = rng.randrange(len(paths) - count + 1)
    return paths[start : start + count]


def _tied(recipe: Recipe) -> bool:
    return "language" in recipe.tags and recipe.style.naming in (1, 3)


@injector("parameters_not_in_optimizer", applies=lambda recipe: single(recipe) and not _tied(recipe), judge="structure")
def parameters_not_in_optimizer(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["part", "part", "head_only", "replaced", "unregistered", "rebuilt"])
    paths = weighted(recipe)
    chosen = _group(recipe, rng, 0.2 + 0.6 * strength)
    if variant == "head_only":
        chosen = paths[:-1]
    plain = [path for path in chosen if path.rpartition(".")[2].isidentifier()]
    if variant == "unregistered" and not plain:
        variant = "part"
    also: tuple[str, ...] = ()
    if variant in ("part", "head_only"):

        def parameters(model: nn.Module) -> Iterable[Any]:
            left_out = {id(p) for path in chosen for p in model.get_submodule(path).parameters()}
            return [p for p in model.parameters() if id(p) not in left_out]

        recipe.parameters = parameters
    elif variant == "unregistered":
        chosen = plain[:1]

        def unregister(model: nn.Module) -> None:
            # As a layer kept in a Python list: it runs, and named_parameters() does not know of it.
            owner, name = _owner(model, chosen[0])
            module = owner._modules.pop(name)
            object.__setattr__(owner, name, module)

        recipe.after_build.append(unregister)
    else:

        def replace(model: nn.Module, optimizers: list[Optimizer]) -> None:
            for path in chosen:
                for module in model.get_submodule(path).modules():
                    for name, parameter in list(module._parameters.items()):
                        if parameter is not None:
                            setattr(module, name, nn.Parameter(parameter.detach().clone()))
                if hasattr(model.get_submodule(path), "flatten_parameters"):
                    model.get_submodule(path).flatten_parameters()

        if variant == "rebuilt":
            chosen = paths
            also = ("missing_optimizer_step",)
        recipe.loop.late_optimizer = False
        recipe.after_optimizer.append(replace)
    places = [place for path in chosen for place in (path, *parents(path))]
    label(recipe, "parameters_not_in_optimizer", variant, (*dict.fromkeys(places), ""), also=also)


@injector("frozen_parameters", applies=lambda recipe: single(recipe) and not _tied(recipe))
def frozen_parameters(recipe: Recipe, rng: random.Random, strength: float) -> None:
    variant = rng.choice(["all_but_norms", "body", "head", "all_but_biases", "most"])
    paths = weighted(recipe)
    frozen: list[str] = []

    def freeze(model: nn.Module) -> None:
        frozen.clear()
        for name, parameter in model.named_parameters():
            owner, _, leaf = name.rpartition(".")
            is_weight = owner in paths
            stop = {
                "all_but_norms": is_weight or parameter.ndim > 1,
                "body": owner != paths[-1],
                "head": owner in paths[-max(1, len(paths) // 2) :],
                "all_but_biases": "bias" not in leaf,
                "most": owner in paths[: max(1, int(len(paths) * 0.9))],
            }[variant]
            if stop:
                parameter.requires_grad_(False)
                frozen.append(owner)
        if not any(parameter.requires_grad for parameter in model.parameters()):
            # Something must train, else backward itself would fail: the last bias is left.
            list(model.parameters())[-1].requires_grad_(True)
        places = [place for path in frozen for place in (path, *parents(path))]
        answer.places = (*dict.fromkeys(places), "")

    answer = label(recipe, "frozen_parameters", variant, also=("parameters_not_in_optimizer",))
    recipe.after_build.append(freeze)
    if variant in ("all_but_norms", "all_but_biases") and rng.random() < 0.5:
        # People who freeze pass only what trains.
        recipe.parameters = lambda model: [p for p in model.parameters() if p.requires_grad]


@injector("unused_parameters", applies=single, judge="structure")
def unused_parameters(recipe: Recipe, rng: random.Random, strength: float) -> None:
    options = ["never_called", "never_called", "dropped"] + (["skip"] * 2 if "skip" in recipe.knobs else [])
    variant = rng.choice(options)
    if variant == "skip":
        recipe.style.depth = max(3, recipe.style.depth)
        before = set(weighted(recipe))
        recipe.style.skip = 2
        missing = [path for path in before - set(weighted(recipe)) if path]
        if missing:
            from bench.faultbench.loop import model_of

            present = dict(model_of(recipe).named_modules())
            missing = [path for path in missing if path in present]
        if missing:
            places = [place for path in missing for place in (path, *parents(path))]
            label(recipe, "unused_parameters", variant, tuple(dict.fromkeys(places)))
            return
        recipe.style.skip = None
        variant = "never_called"
    name = rng.choice(["aux_head", "gate", "fc_extra", "attention", "norm_out", "projection", "residual_branch"])
    width = rng.choice([8, 16, 32])
    host = rng.choice(hidden(recipe) or weighted(recipe)) if variant == "dropped" else ""

    def add(model: nn.Module) -> None:
        extra: nn.Module = nn.Linear(width, width)
        if rng_pick == "sequential":
            extra = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        elif rng_pick == "norm":
            extra = nn.LayerNorm(width)
        setattr(model, name, extra)
        answer.places = around(name, model)
        if variant == "dropped":

            def change(forward):  # type: ignore[no-untyped-def]
                def call(*inputs: Any, **more: Any) -> Any:
                    out = forward(*inputs, **more)
                    extra(torch.ones(2, width))  # the result is dropped
                    return out

                return call

            patch_forward(model, host, change)

    rng_pick = rng.choice(["linear", "sequential", "norm"])
    answer = label(recipe, "unused_parameters", variant)
    recipe.after_build.append(add)
