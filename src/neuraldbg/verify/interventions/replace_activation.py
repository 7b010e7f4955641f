"""Replace an activation.

## What it changes
Against dying units every hidden ReLU becomes a leaky one; against saturation every hidden sigmoid or tanh becomes a
leaky ReLU (which has no flat region), and scores that drive a hidden softmax into its flat region are divided by their
spread; against a wrong output activation the last one is left out. Modules and functions alike. Which activation is the
last is learned from a rehearsal of the model's first forward.

## Which causes it removes
Dying ReLUs, saturating activations, an output activation that can't reach the targets.

## What it can't do
The gates inside of LSTM and GRU, and anything in a compiled model.
"""

from __future__ import annotations

import torch.nn.functional
from torch import Tensor

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("dying_relu", "saturating_activation", "wrong_output_activation")
DO = "replace the activation"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.1
CHANGES_LOSS = False
_RELU = ("relu", "relu_", "relu6", "clamp_min")
_SOFTMAX = ("softmax", "_softmax")
#: Spread of a softmax's scores above which it picks one and passes next to no gradient.
_WIDE = 3.0
_FLAT = ("sigmoid", "tanh", "hardtanh", "hardsigmoid", "softsign", "sigmoid_", "tanh_")


def install(lever: Lever) -> None:
    output_only = lever.target.cause == "wrong_output_activation"
    if output_only:
        names = _RELU + _FLAT
    elif lever.target.cause == "dying_relu":
        names = _RELU
    elif lever.target.cause == "saturating_activation":
        names = (*_FLAT, *_SOFTMAX)
    else:
        names = _RELU + _FLAT
    #: Root → index of the activation call that gives the model's output; None where there is none.
    last: dict[int, int | None] = {}
    state = {"index": 0, "depth": 0, "root": None, "inside": False}
    made: list[Tensor] = []

    def around(call):
        if not call.is_root:
            return call.proceed()
        key = id(call.module)
        state["root"] = key
        try:
            if key not in last:
                state["index"] = 0
                made.clear()
                last[key] = _position(call.rehearse(), made)
            state["index"] = 0
            return call.proceed()
        finally:
            state["root"] = None
            made.clear()

    def make_for(name):
        def make(original):
            def activation(tensor, *arguments, **keywords):
                if state["inside"] or not isinstance(tensor, Tensor) or name == "clamp_min":
                    return original(tensor, *arguments, **keywords)
                root = state["root"]
                index, state["index"] = state["index"], state["index"] + 1
                if root is None:
                    # Between the model and the loss: an output activation by its place.
                    replaced = output_only and tensor.requires_grad
                    if replaced:
                        lever.did(f"the {name} of the output left out")
                    return tensor if replaced else original(tensor, *arguments, **keywords)
                learned = root in last
                is_last = learned and last[root] == index
                if learned and is_last == output_only:
                    if output_only:
                        lever.did(f"the {name} of the output left out")
                        return tensor
                    if name in _SOFTMAX:
                        state["inside"] = True
                        try:
                            return original(_narrowed(tensor, lever), *arguments, **keywords)
                        finally:
                            state["inside"] = False
                    lever.did(f"{name} replaced by a leaky ReLU")
                    return torch.where(tensor > 0, tensor, tensor * 0.2)
                # One activation may be written in terms of another; the outer one counts.
                state["inside"] = True
                try:
                    result = original(tensor, *arguments, **keywords)
                finally:
                    state["inside"] = False
                if not learned:
                    made.append(result)
                return result

            return activation

        return make

    for name in names:
        for owner in (torch.nn.functional, torch, Tensor):
            lever.replace(owner, name, make_for(name))
    lever.around_calls(around)


def _narrowed(scores: Tensor, lever: Lever) -> Tensor:
    """Scores with their spread brought to one where it is wide; those that a mask took out stay out."""
    values = scores.detach()
    values = values[torch.isfinite(values) & (values > -1e4)]
    spread = float(values.std()) if values.numel() > 1 else 0.0
    if not spread > _WIDE:
        return scores
    lever.did("the scores of a softmax divided by their spread")
    return scores / spread


def _position(output: object, made: list[Tensor]) -> int | None:
    """Index of the activation whose result is the output, as it is or rearranged."""
    if isinstance(output, (tuple, list)):
        output = next((part for part in output if isinstance(part, Tensor)), None)
    if not isinstance(output, Tensor):
        return None
    for index, result in enumerate(made):
        if output is result or (output.numel() == result.numel() and output.data_ptr() == result.data_ptr()):
            return index
    return None
