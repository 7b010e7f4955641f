"""Normalize after each layer of the stack.

## What it changes
The output of every hidden linear map, convolution and recurrent cell goes through a layer norm (no parameters of its
own). The last one, which gives the model's output, is learned from the first forward and left as it is. Where that is
not enough against an explosion, the normalized output is multiplied by a fifth: what residual branches add up to stays
small, and a plain stack does not see it.

## Which causes it removes
A depth over which the signal or its gradient vanishes or explodes.

## What it can't do
The steps inside of torch's own RNN, LSTM and GRU: they run outside of Python. A cell that is called step by step is
reached.
"""

from __future__ import annotations

import torch.nn.functional
from torch import Tensor, nn

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("exploding_depth", "vanishing_depth")
DO = "normalize after each layer"
STRENGTHS: tuple[float, ...] = (1.0, 0.2)
ALSO_CURES = 0.25
CHANGES_LOSS = False
_LAYERS = (nn.Linear, nn.modules.conv._ConvNd, nn.RNNCellBase)


def install(lever: Lever) -> None:
    #: Root → the modules whose output is the model's.
    last: dict[int, set[int]] = {}
    latest: dict[int, Tensor] = {}
    state = {"root": None}

    def around(call):
        module = call.module
        if call.is_root:
            state["root"] = id(module)
            latest.clear()
            output = call.proceed()
            if state["root"] not in last:
                last[state["root"]] = _producers(output, latest)
            latest.clear()
            return output
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
        dimensions = first.shape[1:] if isinstance(module, nn.modules.conv._ConvNd) else first.shape[-1:]
        if len(dimensions) == 0 or dimensions.numel() < 2:
            return output
        lever.did("a layer norm after each hidden layer")
        normed = torch.nn.functional.layer_norm(first, dimensions) * lever.strength
        return (normed, *output[1:]) if isinstance(output, tuple) else normed

    lever.around_calls(around)


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
