"""Models that nobody named: what a called module belongs to, and which variable of the user's holds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

import torch
from torch import nn

from neuraldbg.observe import source

#: Frames of the user's that are looked into, from the call outwards.
_FRAMES = 30


def root_of(module: nn.Module, roots: Iterable[tuple[str, nn.Module]]) -> tuple[nn.Module, str]:
    """The model that a called module belongs to, and a name for it.

    A module that a variable holds is a model by itself. One that does not, a layer called by hand, belongs to the
    largest module in a variable that contains it. The name is "" for a model that is trained alone, so that places read
    as in its own ``named_modules()``; where several are trained it is the outermost variable that holds it.
    """
    known = list(roots)
    variables = list(_variables())
    name = next((name for name, value in reversed(variables) if value is module), None)
    if name is None:
        holders = [(name, value) for name, value in variables if isinstance(value, nn.Module) and _holds(value, module)]
        if holders:
            name, module = max(holders, key=lambda item: sum(1 for _ in item[1].modules()))
    if not known and len(_trained(variables)) < 2:
        return module, ""
    name = name or type(module).__name__.lower()
    taken = {root_name for root_name, _ in known}
    number = 2
    chosen = name
    while chosen in taken:
        chosen, number = f"{name}{number}", number + 1
    return module, chosen


def _variables() -> Iterator[tuple[str, Any]]:
    """Names and values that the user's code can see from here, innermost first; attributes of ``self`` among them."""
    frame: FrameType | None = source.user_frame(2)
    seen: set[int] = set()
    for _ in range(_FRAMES):
        if frame is None:
            return
        if not source.is_library(frame.f_code.co_filename):
            places = [frame.f_locals]
            if id(frame.f_globals) not in seen:
                seen.add(id(frame.f_globals))
                places.append(frame.f_globals)
            for place in places:
                for name, value in list(place.items()):
                    if not name.startswith("_"):
                        yield name, value
            owner = frame.f_locals.get("self")
            if owner is not None and not isinstance(owner, nn.Module):
                yield from list(getattr(owner, "__dict__", {}).items())
        frame = frame.f_back


def _holds(owner: nn.Module, module: nn.Module) -> bool:
    return any(part is module for part in owner.modules())


def _trained(variables: list[tuple[str, Any]]) -> list[nn.Module]:
    """Models in variables, none inside another, with parameters that an optimizer in a variable holds."""
    stepped: set[int] = set()
    for _, value in variables:
        for item in value if isinstance(value, (list, tuple)) else value.values() if type(value) is dict else (value,):
            if isinstance(item, torch.optim.Optimizer):
                stepped.update(id(parameter) for group in item.param_groups for parameter in group["params"])
    models: dict[int, nn.Module] = {}
    for _, value in variables:
        if isinstance(value, nn.Module) and any(id(parameter) in stepped for parameter in value.parameters()):
            models[id(value)] = value
    inner = {id(part) for model in models.values() for part in model.modules() if part is not model}
    return [model for identity, model in models.items() if identity not in inner]
