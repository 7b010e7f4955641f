"""Between the last layer and the loss: one softmax too many, an activation that cannot reach the targets."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.places import parents, patch_forward, weighted
from bench.faultbench.recipe import Recipe, geometric


def _put(
    recipe: Recipe, rng: random.Random, module: nn.Module, function: Callable[[Tensor], Tensor]
) -> tuple[str, tuple[str, ...]]:
    """Put an activation at the end of the model in one of three ways; the way, and the places that count as right."""
    last = weighted(recipe)[-1]
    tied = "language" in recipe.tags and recipe.style.naming in (1, 3)
    whole = recipe.family == "recommender"  # a dot product is added after the last layer
    way = rng.choice(["forward", "outside"] if tied or whole else ["module", "forward", "outside"])
    places = (last, *parents(last), "")
    if way == "outside":
        recipe.on_output.append(lambda output, step: function(output))
    elif way == "forward":
        recipe.after_build.append(
            lambda model: patch_forward(model, "", lambda forward: lambda *inputs: function(forward(*inputs)))
        )
    else:

        def wrap(model: nn.Module) -> None:
            owner = model.get_submodule(last.rpartition(".")[0])
            name = last.rpartition(".")[2]
            if isinstance(owner, nn.Sequential):
                owner.append(module)
            else:
                setattr(owner, name, nn.Sequential(getattr(owner, name), module))

        recipe.after_build.append(wrap)
        index = last.rpartition(".")[2]
        after = f"{last.rpartition('.')[0]}.{int(index) + 1}" if index.isdigit() else f"{last}.1"
        places = (*places, after, f"{last}.0")
    return way, places


@injector("redundant_softmax", applies=lambda recipe: single(recipe) and recipe.logits(), judge="loss")
def redundant_softmax(recipe: Recipe, rng: random.Random, strength: float) -> None:
    if recipe.task == "binary":
        module: nn.Module = nn.Sigmoid()
        function: Callable[[Tensor], Tensor] = torch.sigmoid
    else:
        axis = 1 if recipe.task == "classes" else -1
        module = nn.Softmax(dim=axis)
        function = rng.choice([lambda x: F.softmax(x, dim=axis), lambda x: torch.softmax(x, axis)])
    way, places = _put(recipe, rng, module, function)
    label(
        recipe, "redundant_softmax", way, places, also=("wrong_output_activation",) if recipe.task == "binary" else ()
    )


ACTIVATIONS: dict[str, tuple[Callable[[], nn.Module], Callable[[Tensor], Tensor]]] = {
    "relu": (nn.ReLU, F.relu),
    "sigmoid": (nn.Sigmoid, torch.sigmoid),
    "tanh": (nn.Tanh, torch.tanh),
    "softplus": (nn.Softplus, F.softplus),
    "softmax": (lambda: nn.Softmax(dim=-1), lambda x: torch.softmax(x, -1)),
}


def _output(recipe: Recipe) -> bool:
    return single(recipe) and recipe.task in ("regression", "binary", "classes", "tokens")


@injector("wrong_output_activation", applies=_output, judge="loss")
def wrong_output_activation(recipe: Recipe, rng: random.Random, strength: float) -> None:
    if recipe.task == "regression":
        names = ["relu", "sigmoid", "tanh", "softplus", "relu", "sigmoid"]
        if rng.random() < 0.15:
            names = ["softmax"]
    else:
        names = ["relu", "tanh"] if recipe.task == "binary" else ["tanh", "tanh", "relu"]
    name = rng.choice(names)
    if name == "tanh" and recipe.task == "regression":
        # Standardized targets are mostly within reach of tanh: give them an honest scale.
        scale = geometric(2.0, 5.0, strength)
        recipe.on_train_data.append(lambda data: type(data)(data.inputs, data.target * scale))
        recipe.on_validation_data.append(lambda data: type(data)(data.inputs, data.target * scale))
    module, function = ACTIVATIONS[name]
    way, places = _put(recipe, rng, module(), function)
    also = {"relu": ("dying_relu",), "softmax": ("redundant_softmax",), "tanh": ("saturating_activation",)}.get(
        name, ()
    )
    label(recipe, "wrong_output_activation", f"{name} {way}", places, also=also)
