"""A second look at a step that went wrong: the outermost modules' last calls are made again under full observation.

Every operation is checked, so that the first one that reads finite numbers and gives others is named, with its module,
the range of what it read and the user's line. Afterwards everything is as it was: random states, buffers, attributes of
modules, gradients. Where that cannot be promised the second look is not taken, and the answer says why.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as module_hooks
from torch.overrides import TorchFunctionMode

from neuraldbg.observe import source
from neuraldbg.observe.autograd import Node, operation
from neuraldbg.observe.inputs_kept import KeptCall
from neuraldbg.observe.quantities.activations import tensors_in

#: Operations that only look at a tensor or make an empty one.
_LOOKING = frozenset({"__get__", "size", "dim", "numel", "is_floating_point", "empty", "empty_like", "new_empty"})


def look_again(calls: list[KeptCall], names: Mapping[int, str], backward: bool) -> dict[str, Any]:
    """Make the kept calls again.

    Args:
        calls: the last call of each outermost module.
        names: paths of modules and parameters, by identity.
        backward: look for a gradient that is not finite, where the forward shows nothing.

    Returns:
        ``{"skipped": reason}``, ``{"found": False}`` when every number inside the modules was finite (the loss function
        made the bad one), or ``found`` True with ``direction``, ``operation``, ``module``, ``kind`` (operation, input,
        parameter), ``smallest``, ``largest`` (magnitudes of what was read), ``dtype``, ``source`` (file:line).
    """
    reason = _reason_against(calls)
    if reason:
        return {"skipped": reason}
    for call in calls:
        with _restored(call.module), _eager():
            found = _run(call, names, backward)
        if found is not None:
            return {"found": True, **found}
    return {"found": False}


def _reason_against(calls: list[KeptCall]) -> str | None:
    if not calls:
        return "the inputs of this step were not kept"
    if any(call.changed for call in calls):
        return "an input was changed in place after the forward"
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return "a distributed run: a second forward would wait for the other processes"
    return None


def _run(call: KeptCall, names: Mapping[int, str], backward: bool) -> dict[str, Any] | None:
    watch = _Watch(names, {id(tensor) for tensor, _ in call.versions})
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.set_grad_enabled(backward))
        for device, dtype in call.autocast:
            stack.enter_context(torch.autocast(device, dtype=dtype))
        for handle in (
            module_hooks.register_module_forward_pre_hook(watch.enters),
            module_hooks.register_module_forward_hook(watch.leaves, always_call=True),
        ):
            stack.callback(handle.remove)
        stack.enter_context(watch)
        output = call.module(*call.args, **call.keywords)
    if watch.found is None and backward:
        return _run_backward(call.module, output, watch)
    return watch.found


class _Watch(TorchFunctionMode):
    """Checks what every operation reads and gives, until the first bad one."""

    def __init__(self, names: Mapping[int, str], inputs: set[int]) -> None:
        super().__init__()
        self._names = names
        self._inputs = inputs
        self._modules: list[str | None] = []
        self.found: dict[str, Any] | None = None
        #: Node → (operation, module, user's line), to name what a backward meets.
        self.nodes: dict[Node, tuple[str, str | None, str | None]] = {}

    def enters(self, module: nn.Module, inputs: Any) -> None:
        self._modules.append(self._names.get(id(module)))

    def leaves(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if self._modules:
            self._modules.pop()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        name = getattr(function, "__name__", str(function))
        if self.found is None and name not in _LOOKING:
            with torch._C.DisableTorchFunction():
                self._check(name, args, kwargs or {}, result)
        return result

    def _check(self, name: str, args: Any, kwargs: Any, result: Any) -> None:
        module = next((path for path in reversed(self._modules) if path is not None), None)
        for made in tensors_in(result):
            if made.grad_fn is not None and made.grad_fn not in self.nodes:
                self.nodes[made.grad_fn] = (name, module, _line())
        bad = next((made for made in tensors_in(result) if not finite(made)), None)
        if bad is None:
            return
        reads = list(tensors_in((args, kwargs)))
        kind = "operation"
        for tensor in reads:
            if not finite(tensor):
                kind = "parameter" if isinstance(tensor, nn.Parameter) else "input"
                if kind == "input" and id(tensor) not in self._inputs and name.startswith("masked_fill"):
                    return
                break
        self.found = {
            "direction": "forward",
            "operation": name,
            "module": module,
            "kind": kind,
            "dtype": str(bad.dtype).removeprefix("torch."),
            "source": _line(),
            **_range(reads),
        }


def _run_backward(module: nn.Module, output: Any, watch: _Watch) -> dict[str, Any] | None:
    """Push ones through the graph of the second forward; the first node that turns finite gradients into others."""
    if any(m._backward_hooks or m._backward_pre_hooks for m in module.modules()):
        return None
    outputs = [tensor for tensor in tensors_in(output) if tensor.requires_grad and tensor.is_floating_point()]
    parameters = [p for p in module.parameters() if p.requires_grad and not p._backward_hooks]
    if not outputs or not parameters:
        return None
    found: list[tuple[Node, Tensor]] = []
    handles = []

    def hook_of(node: Node) -> Any:
        def hook(grad_inputs: Any, grad_outputs: Any) -> None:
            if found or not all(finite(g) for g in grad_outputs if isinstance(g, Tensor)):
                return
            bad = next((g for g in grad_inputs if isinstance(g, Tensor) and not finite(g)), None)
            if bad is not None:
                found.append((node, bad))

        return hook

    try:
        handles = [node.register_hook(hook_of(node)) for node in watch.nodes]
        torch.autograd.grad(outputs, parameters, [torch.ones_like(o) for o in outputs], allow_unused=True)
    finally:
        for handle in handles:
            handle.remove()
    if not found:
        return None
    node, bad = found[0]
    name, path, line = watch.nodes[node]
    return {
        "direction": "backward",
        "operation": operation(node),
        "function": name,
        "module": path,
        "kind": "operation",
        "dtype": str(bad.dtype).removeprefix("torch."),
        "source": line,
    }


def _line() -> str | None:
    """The user's line inside the second forward; None where only library code runs."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not _run.__code__:
        if not source.is_library(frame.f_code.co_filename):
            return source.location(frame)
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _range(tensors: list[Tensor]) -> dict[str, float]:
    finite_parts = [
        t.detach()[torch.isfinite(t.detach())].abs() for t in tensors if t.is_floating_point() and _readable(t)
    ]
    parts = [part for part in finite_parts if part.numel()]
    if not parts:
        return {}
    return {
        "smallest": min(float(part.min()) for part in parts),
        "largest": max(float(part.max()) for part in parts),
    }


def _readable(value: Tensor) -> bool:
    return value.layout == torch.strided and value.device.type != "meta" and value.numel() > 0


def finite(value: Tensor) -> bool:
    """Whether every element is finite; what cannot be read counts as finite."""
    if not (value.is_floating_point() or value.is_complex()) or not _readable(value):
        return True
    return bool(torch.isfinite(value.detach()).all())


@contextlib.contextmanager
def _eager() -> Iterator[None]:
    """Compiled parts run as written, so that every operation is seen, and nothing is compiled for this one call."""
    stance = getattr(torch.compiler, "set_stance", None)
    with stance("force_eager") if stance is not None else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def _restored(root: nn.Module) -> Iterator[None]:
    """Put back random states, buffers and every plain attribute of the modules."""
    python_state = random.getstate()
    numpy = sys.modules.get("numpy")
    numpy_state = numpy.random.get_state() if numpy is not None else None
    devices = (
        list(range(torch.cuda.device_count())) if torch.cuda.is_available() and torch.cuda.is_initialized() else []
    )
    modules = list(root.modules())
    attributes = [(module, dict(vars(module))) for module in modules]
    containers = [
        (value, value.copy())
        for _, values in attributes
        for name, value in values.items()
        if not name.startswith("_") and isinstance(value, (list, dict, set))
    ]
    buffers = [(module._buffers, dict(module._buffers)) for module in modules]
    modes = [(module, module.training) for module in modules]
    for own, before in buffers:
        # The run's own tensors are set aside, not copied back: their versions matter to the backward to come.
        own.update({name: value.clone() for name, value in before.items() if value is not None})
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        for own, before in buffers:
            own.clear()
            own.update(before)
        for module, values in attributes:
            vars(module).clear()
            vars(module).update(values)
        for value, content in containers:
            _refill(value, content)
        for module, training in modes:
            module.training = training
        random.setstate(python_state)
        if numpy is not None:
            numpy.random.set_state(numpy_state)


def _refill(value: Any, content: Any) -> None:
    value.clear()
    if isinstance(value, list):
        value.extend(content)
    else:
        value.update(content)
