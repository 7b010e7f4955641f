"""Normalize after each layer of the stack.

## What it changes
The output of every hidden linear map, convolution and recurrent cell, and of every sigmoid and tanh, whose slope is
small as well, goes through a layer norm (no parameters of its own). The last one, which gives the model's output, is
learned from the first forward and left as it is. Where that is not enough against an explosion, the normalized output
is multiplied by a fifth: what residual branches add up to stays small, and a plain stack does not see it. A layer norm
also takes the differences of size between samples away, which some models need (images, amplitudes). Where that is not
enough either, the output of each hidden layer is shifted and scaled by constants, taken once from the first forward, so
that its mean over that batch is zero and its spread one (against an explosion a fifth, after the first layer), as in
Salimans & Kingma 2016, "Weight normalization", section 3.

## Which causes it removes
A depth over which the signal or its gradient vanishes or explodes.

## What it can't do
The steps inside of torch's own RNN, LSTM and GRU: they run outside of Python. A cell that is called step by step is
reached.
"""

from __future__ import annotations

import math

import torch.nn.functional
from torch import Tensor, nn

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("exploding_depth", "vanishing_depth")
DO = "normalize after each layer"
#: Factor of the normalized output; 0 stands for constants from the first forward.
STRENGTHS: tuple[float, ...] = (1.0, 0.2, 0.0)
ALSO_CURES = 0.25
CHANGES_LOSS = False
_LAYERS = (nn.Linear, nn.modules.conv._ConvNd, nn.RNNCellBase)
_FLAT = ("sigmoid", "tanh")
#: Spread of the layers after the first one of an explosion.
_SMALL = 0.2


def install(lever: Lever) -> None:
    #: Root → the modules whose output is the model's.
    last: dict[int, set[int]] = {}
    latest: dict[int, Tensor] = {}
    state = {"root": None}
    #: Layer → what is taken off its output, and the factor.
    constants: dict[int, tuple[Tensor, float]] = {}

    def around(call):
        module = call.module
        if call.is_root:
            state["root"] = id(module)
            if state["root"] not in last:
                latest.clear()
                last[state["root"]] = _producers(call.rehearse(), latest)
                latest.clear()
            return call.proceed()
        output = call.proceed()
        if not isinstance(module, _LAYERS):
            return output
        learned = last.get(state["root"])
        if learned is None:
            if isinstance(output, Tensor):
                latest[id(module)] = output
            return output
        if id(module) in learned:
            return output
        first = output[0] if isinstance(output, tuple) else output
        image = isinstance(module, nn.modules.conv._ConvNd)
        normed = normalized(first, image, lever.strength) if lever.strength else fixed(first, image, id(module))
        return (normed, *output[1:]) if isinstance(output, tuple) else normed

    def normalized(tensor, image, factor=1.0):
        dimensions = tensor.shape[1:] if image else tensor.shape[-1:]
        if len(dimensions) == 0 or dimensions.numel() < 2:
            return tensor
        lever.did("a layer norm after each hidden layer")
        return torch.nn.functional.layer_norm(tensor, dimensions) * factor

    def fixed(tensor, image, key):
        if key not in constants:
            wanted = _SMALL if constants and lever.target.cause == "exploding_depth" else 1.0
            constants[key] = _constants(tensor.detach(), 1 if image else -1, wanted)
            lever.did("the output of each hidden layer shifted and scaled once")
        shift, factor = constants[key]
        return (tensor - shift) * factor

    def make(original):
        def activation(tensor, *arguments, **keywords):
            output = original(tensor, *arguments, **keywords)
            hidden = lever.inside_module and last.get(state["root"]) is not None and isinstance(output, Tensor)
            hidden = hidden and lever.strength != 0
            # One value per sample is a gate or an answer.
            if not hidden or not output.requires_grad or output.dim() < 2 or lever.target.cause == "exploding_depth":
                return output
            return normalized(output, output.dim() == 4)

        return activation

    for name in _FLAT:
        for owner in (torch.nn.functional, torch, Tensor):
            lever.replace(owner, name, make)
    lever.around_calls(around)


def _constants(output: Tensor, features: int, wanted: float) -> tuple[Tensor, float]:
    """Mean per feature, kept in its dimensions, and the factor that brings the spread to a wanted one."""
    others = [d for d in range(output.dim()) if d != features % output.dim()]
    mean = output.mean(others, keepdim=True) if others else torch.zeros_like(output)
    spread = float((output - mean).square().mean().sqrt())
    # One row has no spread, and what is not finite can't be brought back.
    return (mean, wanted / spread) if 0 < spread < math.inf else (torch.zeros_like(mean), 1.0)


def _producers(output: object, latest: dict[int, Tensor]) -> set[int]:
    """Which of the layers, last called last, the model's output comes from without another layer between."""
    parts = output if isinstance(output, (tuple, list)) else [output]
    found = set()
    for part in parts:
        if not isinstance(part, Tensor):
            continue
        for key, result in latest.items():
            if part is result or (part.numel() == result.numel() and part.data_ptr() == result.data_ptr()):
                found.add(key)
    if not found and latest:
        found.add(next(reversed(latest)))
    return found
