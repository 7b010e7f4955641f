"""What the outermost modules read: batches of training and of evaluation, and the first one that is not finite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from neuraldbg.observe import autograd, kernels
from neuraldbg.observe.quantities import inputs
from neuraldbg.observe.quantities.activations import tensors_in

if TYPE_CHECKING:
    from neuraldbg.observe.inputs_kept import KeptCall
    from neuraldbg.observe.recorder import Recorder

#: Outermost calls whose inputs are measured per step.
_CALLS = 2
#: Operations of first layers → the saved value that is their input.
_DATA_OPERANDS = {"Addmm": "mat1", "Convolution": "input", "MkldnnConvolution": "input"}


def is_functional(value: Tensor) -> bool:
    """Whether a tensor is a wrapper of torch.func (vmap, grad): its numbers cannot be read."""
    check = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", None)
    return bool(check is not None and check(value))


def is_setting(value: Tensor) -> bool:
    """Whether a value is a scalar that tells how to compute, not what on: a number of tokens to divide a loss by, say.

    It has no rows and no features, so that nothing about it is out of scale. One that is not finite counts as data.
    """
    return value.dim() == 0 and not (value.device.type == "cpu" and not bool(torch.isfinite(value)))


class ForwardInputs:
    """One per session."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        #: Calls of this step, by path.
        self._calls: dict[str, int] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._nonfinite = False

    def measure(self, path: str, args: Any, keywords: Any, step: int, evaluating: bool) -> None:
        """Numbers about the arguments of one call of an outermost module."""
        calls = self._calls.get(path, 0)
        if args:
            self._calls[path] = calls + 1
        if calls >= _CALLS and not evaluating:
            return
        named = [(str(index), value) for index, value in enumerate(args)] + list((keywords or {}).items())
        kind = "evaluation" if evaluating else "input"
        for name, value in named[:6]:
            for tensor in list(tensors_in(value))[:2]:
                if tensor.requires_grad or tensor.numel() == 0 or tensor.is_complex() or is_functional(tensor):
                    continue
                tensor = kernels.local(tensor)
                if tensor.layout != torch.strided or tensor.device.type == "meta" or tensor.numel() == 0:
                    continue
                if is_setting(tensor):
                    continue
                place = self._recorder.place(
                    kind, f"{path}[{name}]" if path else f"[{name}]", {"argument": name, "module": path}
                )
                inputs.measure_input_batch(self._recorder.pending, place, tensor)
                if kind == "input" and tensor.is_floating_point() and tensor.dim() > 1:
                    self._shapes.setdefault(f"{path}[{name}]" if path else f"[{name}]", tuple(tensor.shape[1:]))
                if tensor.is_floating_point() and tensor.device.type == "cpu":
                    self._locate(tensor, path, name, place, step, evaluating)

    def _locate(self, tensor: Tensor, path: str, name: str, place: int, step: int, evaluating: bool = False) -> None:
        if self._nonfinite or bool(torch.isfinite(tensor.sum())):
            return
        data = inputs.locate_nonfinite(tensor)
        if data["count"]:
            self._nonfinite = True
            where = {"module": path, "argument": name, "evaluation": evaluating}
            self._recorder.fact("nonfinite.input", step, place, {**data, **where})

    def look_again(self, calls: list[KeptCall], paths: Mapping[int, str], step: int) -> bool:
        """Something is not finite in this step: whether all that its outermost modules read could be looked at.

        It does not matter how the step is observed: what a call read was kept.
        """
        kept = [call for call in calls if not call.changed]
        for call in kept:
            path = paths.get(id(call.module), "")
            for name, value in [*((str(i), value) for i, value in enumerate(call.args)), *call.keywords.items()]:
                for tensor in tensors_in(value):
                    if tensor.grad_fn is not None or is_functional(tensor):
                        continue
                    tensor = kernels.local(tensor)
                    if kernels.is_number_tensor(tensor) and not is_setting(tensor):
                        place = self._recorder.place("input", f"{path}[{name}]", {"argument": name, "module": path})
                        self._locate(tensor, path, name, place, step)
        return bool(calls) and len(kept) == len(calls)

    def of_calls(self, calls: list[KeptCall], paths: Mapping[int, str], step: int) -> None:
        """Inputs of a step that carried no module hook, from its kept calls."""
        for call in calls:
            self.measure(paths.get(id(call.module), ""), call.args, call.keywords, step, evaluating=False)

    def of_graph(self, roots: list[Tensor], step: int) -> None:
        """Inputs of a step whose calls were not kept either, from what the first operations saved.

        An operation whose first operand needs no gradient read it from the data.
        """
        wanted = {shape: name for name, shape in self._shapes.items()}
        for node in autograd.walk(roots[0].grad_fn, 4000) if roots[0].grad_fn is not None and wanted else []:
            name = _DATA_OPERANDS.get(autograd.operation(node))
            if name is None or (name == "mat1" and node.next_functions[1][0] is not None):
                continue
            if name == "input" and node.next_functions[0][0] is not None:
                continue
            value = autograd.saved_tensor(node, name)
            if value is None or not kernels.is_number_tensor(value):
                continue
            known = wanted.pop(tuple(value.shape[1:]), None)
            if known is not None:
                inputs.measure_input_batch(self._recorder.pending, self._recorder.place("input", known), value)

    def close_step(self) -> None:
        """The next call is the first one of its step."""
        self._calls.clear()
