"""Compute in full precision.

## What it changes
Autocast is switched off, the model's 16-bit parameters and buffers are float32 while the block lasts, inputs of the
model too, and what the program casts to 16 bits stays float32.

## Which causes it removes
Overflow and underflow of 16-bit types.

## What it can't do
Rounding that is written by hand. A program that compares types may notice.
"""

from __future__ import annotations

import torch
from torch import Tensor

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("half_precision_overflow", "half_precision_underflow")
DO = "compute in float32"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.05
CHANGES_LOSS = False
_SHORT = (torch.float16, torch.bfloat16)


def install(lever: Lever) -> None:
    def autocast(original):
        def __init__(self, device_type=None, dtype=None, enabled=True, cache_enabled=None):
            if enabled:
                lever.did("autocast off")
            original(self, device_type, dtype=dtype, enabled=False, cache_enabled=cache_enabled)

        return __init__

    def to_short(original):
        def cast(thing, *arguments, **keywords):
            if isinstance(thing, Tensor) and not thing.is_floating_point():
                return original(thing, *arguments, **keywords)
            lever.did("casts to 16 bits left out")
            return thing.float()

        return cast

    def to(original):
        def cast(thing, *arguments, **keywords):
            asked = [value for value in (*arguments, *keywords.values()) if _is_short(value)]
            if asked and thing.is_floating_point():
                lever.did("casts to 16 bits left out")
                arguments = tuple(torch.float32 if _is_short(value) else value for value in arguments)
                keywords = {name: torch.float32 if _is_short(value) else value for name, value in keywords.items()}
            return original(thing, *arguments, **keywords)

        return cast

    widened = set()

    def around(call):
        if call.is_root:
            if id(call.module) not in widened:
                widened.add(id(call.module))
                _widen(call.module, lever)
            call.change_tensors(lambda key, tensor: tensor.float() if tensor.dtype in _SHORT else tensor)
        return call.proceed()

    lever.replace(torch.autocast, "__init__", autocast)
    for owner in (Tensor, torch.nn.Module):
        lever.replace(owner, "half", to_short)
        lever.replace(owner, "bfloat16", to_short)
    lever.replace(Tensor, "to", to)
    lever.around_calls(around)


def _is_short(value: object) -> bool:
    return isinstance(value, torch.dtype) and value in _SHORT


def _widen(module: torch.nn.Module, lever: Lever) -> None:
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.dtype in _SHORT:
            before = tensor.dtype
            tensor.data = tensor.data.float()
            if tensor.grad is not None:
                tensor.grad = None
            lever.did(f"{str(before).removeprefix('torch.')} weights in float32")
            lever.on_exit(lambda tensor=tensor, before=before: _narrow(tensor, before))


def _narrow(tensor: Tensor, dtype: torch.dtype) -> None:
    tensor.grad = None
    tensor.data = tensor.data.to(dtype)
