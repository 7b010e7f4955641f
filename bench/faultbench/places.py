"""Paths of modules: which carry weights and in what order they run, and what counts as the right place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from bench.faultbench.loop import data_of, model_of
from bench.faultbench.recipe import Recipe

ACTIVATIONS = (nn.ReLU, nn.LeakyReLU, nn.GELU, nn.SiLU, nn.ELU, nn.Tanh, nn.Sigmoid, nn.Hardtanh, nn.Softmax)
NORMS = (nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm)
RECURRENT = (nn.RNNBase, nn.RNNCellBase)


def is_weighted(module: nn.Module) -> bool:
    """Whether the module itself holds a weight matrix (or is recurrent)."""
    if isinstance(module, RECURRENT):
        return True
    weight = module._parameters.get("weight")
    return weight is not None and weight.ndim >= 2


def run_order(recipe: Recipe) -> list[tuple[str, nn.Module]]:
    """Modules of the model in the order in which their first forward ends; each (path, module)."""
    model = model_of(recipe)
    seen: list[tuple[str, nn.Module]] = []
    names = {module: name for name, module in model.named_modules()}

    def note(module: nn.Module, inputs: Any, output: Any) -> None:
        if all(module is not other for _, other in seen):
            seen.append((names[module], module))

    handles = [module.register_forward_hook(note) for module in names]
    state = torch.get_rng_state()
    with torch.no_grad():
        if recipe.phases is None:
            batch = data_of(recipe)[2].pick(torch.arange(8))
            model(*batch.inputs)
        else:
            for module in model.children():
                module(torch.randn(8, module_inputs(module)))
    torch.set_rng_state(state)
    for handle in handles:
        handle.remove()
    return seen


def module_inputs(module: nn.Module) -> int:
    """Number of input features of the first linear layer inside."""
    return next(part.in_features for part in module.modules() if isinstance(part, nn.Linear))


def weighted(recipe: Recipe) -> list[str]:
    """Paths of the modules that hold weights, in the order in which they run."""
    return [name for name, module in run_order(recipe) if is_weighted(module)]


def hidden(recipe: Recipe) -> list[str]:
    """As ``weighted``, without the last (the output layer)."""
    return weighted(recipe)[:-1]


def parents(path: str) -> tuple[str, ...]:
    """The path's ancestors, nearest first, without the root."""
    parts = path.split(".")
    return tuple(".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))


def around(path: str, model: nn.Module) -> tuple[str, ...]:
    """A path and what a fair judge accepts beside it: its parents and children, the root if it is a direct child."""
    module = model.get_submodule(path)
    children = tuple(f"{path}.{name}" for name, _ in module.named_modules() if name)
    return (path, *parents(path), *children, *(("",) if "." not in path else ()))


def nearby(paths: list[str] | tuple[str, ...], recipe: Recipe) -> tuple[str, ...]:
    """Paths with their parents, and the activation or norm modules that run between them."""
    order = run_order(recipe)
    names = [name for name, _ in order]
    accepted = list(paths)
    for path in paths:
        accepted += parents(path)
        if path in names:
            for name, module in order[names.index(path) + 1 :]:
                if is_weighted(module):
                    break
                if isinstance(module, (*ACTIVATIONS, *NORMS)) or name in parents(path):
                    accepted.append(name)
    return tuple(dict.fromkeys(accepted))


def patch_forward(model: nn.Module, path: str, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Rewrite the forward of one module, as if its author had written it so."""
    module = model.get_submodule(path)
    module.forward = change(module.forward)  # type: ignore[method-assign]


def on_tensors(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    """Apply a function to every floating tensor in a (nested) tuple, list or dict."""
    if isinstance(value, Tensor):
        return function(value) if value.is_floating_point() else value
    if isinstance(value, (tuple, list)):
        return type(value)(on_tensors(function, part) for part in value)
    if isinstance(value, dict):
        return {key: on_tensors(function, part) for key, part in value.items()}
    return value
