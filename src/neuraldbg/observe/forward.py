"""What module hooks see: calls, outputs, gradients at outputs, inputs of the outermost modules, evaluation forwards."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from neuraldbg.observe import autograd, discovery, kernels, source
from neuraldbg.observe.autograd import Node
from neuraldbg.observe.batched import Batch
from neuraldbg.observe.quantities import activations, inputs
from neuraldbg.observe.watched import Watched, details_of, has_mode, kind_of

if TYPE_CHECKING:
    from neuraldbg.observe.inputs_kept import KeptCall
    from neuraldbg.observe.recorder import Recorder
    from neuraldbg.observe.schedule import Schedule

#: Forwards without gradients that are looked at between two training steps; the rest of a validation is alike.
_EVALUATION_FORWARDS = 3
#: Outermost calls whose inputs are measured per step.
_INPUT_CALLS = 2
#: Operations of first layers → the saved value that is their input.
_DATA_OPERANDS = {"Addmm": "mat1", "Convolution": "input", "MkldnnConvolution": "input"}
#: Owners kept when forwards run with gradients and no backward ever comes: more would keep graphs alive.
_OWNERS = 20000


def is_functional(value: Tensor) -> bool:
    """Whether a tensor is a wrapper of torch.func (vmap, grad): its numbers cannot be read."""
    check = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", None)
    return bool(check is not None and check(value))


class ForwardObserver:
    """Collects what one step's forwards show."""

    def __init__(self, recorder: Recorder, watched: Watched, discover: bool) -> None:
        self._recorder = recorder
        self._watched = watched
        self._discover = discover
        #: Node of a module's output → paths of the modules that returned it, innermost first.
        self.owners: dict[Node, list[str]] = {}
        #: Node of a module's output → the output, until the backward is over.
        self.values: dict[Node, Tensor] = {}
        self.saved_tensors_hooked = False
        self._calls: dict[int, int] = {}
        self._calls_before: dict[int, int] = {}
        self._seen_outputs: dict[int, str] = {}
        self._kept: list[Tensor] = []
        self._hooks: list[Any] = []
        self._dropouts: set[str] = set()
        self._inside_dropout_module = False
        self._stack: list[str] = []
        self._batch = Batch(recorder.pending)
        self._depth = 0
        self._evaluating = False
        self._evaluation_forwards = 0
        self._input_calls: dict[str, int] = {}
        self._input_shapes: dict[str, tuple[int, ...]] = {}
        self._unknown: set[int] = set()
        self._places: dict[int, int] = {}
        self._nonfinite_input = False
        self._nonfinite_output = False
        self._offset = 0
        self.nonfinite_places: list[str] = []

    # names -------------------------------------------------------------------------------------------------------

    def _path(self, module: nn.Module) -> str | None:
        if self._depth == 0 and self._watched.forget_dead():
            # Names go by identity, and a new model may lie where the old one was.
            self._places.clear()
            self._unknown.clear()
        path = self._watched.module_names.get(id(module))
        if path is not None or kind_of(module) == "loss":
            return path
        if self._depth == 0 and self._discovers and next(module.parameters(), None) is not None:
            self._watched.add_root(*discovery.root_of(module, self._watched.roots()))
            return self._watched.module_names.get(id(module))
        if id(module) not in self._unknown:
            self._unknown.add(id(module))
            if self._watched.refresh() and id(module) in self._watched.module_names:
                return self._watched.module_names[id(module)]
            if self._depth > 0 and next(module.parameters(), None) is not None:
                self._note_unregistered(module)
        return self._watched.module_names.get(id(module))

    @property
    def _discovers(self) -> bool:
        """Whether models are looked for: none was given, or the one given is gone and another has taken its place."""
        return self._discover or next(iter(self._watched.roots()), None) is None

    def _note_unregistered(self, module: nn.Module) -> None:
        path = self._watched.name_unregistered(module)
        if path is None:
            return
        parameters = [id(parameter) for parameter in module.parameters()]
        for name, child in module.named_modules():
            self._watched.module_names.setdefault(id(child), f"{path}.{name}" if name else path)
        data = {
            "module": path,
            "class": type(module).__name__,
            "parameters": sum(p.numel() for p in module.parameters()),
        }
        self._recorder.fact("model.unregistered", 0, None, data)
        del parameters

    def _place(self, module: nn.Module, path: str) -> int:
        found = self._places.get(id(module))
        if found is None:
            found = self._places[id(module)] = self._recorder.place("module", path, details_of(module))
        return found

    def unseen(self) -> list[str]:
        """Watched modules without children whose output was never seen."""
        return [
            path
            for path, module in self._watched.modules()
            if id(module) not in self._places and next(module.children(), None) is None
        ]

    # callbacks ---------------------------------------------------------------------------------------------------

    def begins(self, module: nn.Module, args: Any, step: int) -> None:
        path = self._path(module)
        if path is None:
            return
        if self._depth == 0:
            self._evaluating = not torch.is_grad_enabled()
            if self._evaluating:
                self._evaluation_forwards += 1
            elif autograd.saved_tensors_are_hooked():
                self.saved_tensors_hooked = True
            self._measure_inputs(path, args, {}, step)
        self._depth += 1
        self._stack.append(path)
        self._inside_dropout_module = kind_of(module) in ("dropout", "recurrent", "attention")

    def ends(self, module: nn.Module, args: Any, keywords: Any, output: Any, step: int, schedule: Schedule) -> None:
        path = self._watched.module_names.get(id(module))
        if path is None:
            return
        self._depth = max(0, self._depth - 1)
        del self._stack[self._depth :]
        self._inside_dropout_module = False
        outermost = self._depth == 0
        if outermost and keywords:
            self._measure_inputs(path, (), keywords, step)
        if self._evaluating:
            self._evaluation(module, path, output, outermost)
            return
        if autograd.saved_tensors_are_hooked():
            self.saved_tensors_hooked = True
        place = self._place(module, path)
        main = activations.main_output(output)
        if main is None or is_functional(main):
            return
        call = self._calls.get(place, 0)
        self._calls[place] = call + 1
        last = self._calls_before.get(place, 1) - 1
        self._own(output, path, main)
        alias = self._seen_outputs.get(id(main))
        recorder = self._recorder
        if call == 0:
            if has_mode(module) or outermost:
                recorder.add("module.training", place, float(module.training))
            recorder.add("module.output_requires_grad", place, float(main.requires_grad))
            read = next((t for t in activations.tensors_in(args) if kernels.is_number_tensor(t)), None)
            if read is not None:
                recorder.add("module.input_requires_grad", place, float(read.requires_grad))
            if main.dtype in (torch.float16, torch.bfloat16):
                recorder.add("module.half_precision", place, 16.0 if main.dtype == torch.float16 else 8.0)
        if alias is not None and alias != path:
            return
        self._seen_outputs[id(main)] = path
        self._kept.append(main)
        if call == 0 or call == last:
            if call == 0:
                self._measure(module, place, args, main)
            # A leaf is the user's own parameter: a hook on it would be copied and saved with the model.
            if main.grad_fn is not None:
                quantity = "module.output_gradient_norm" if call == last else "module.first_call_gradient_norm"
                hook = activations.gradient_hook(recorder.pending, quantity, place, schedule.enter, schedule.leave)
                # An output that is a view made under no_grad refuses hooks; its gradient stays unknown.
                with contextlib.suppress(RuntimeError):
                    self._hooks.append(main.register_hook(hook))

    def _measure(self, module: nn.Module, place: int, args: Any, main: Tensor) -> None:
        pending = self._recorder.pending
        batch = self._batch
        if batch.takes(main):
            batch.output(place, main, activations.channel_dimension(module, main))
        else:
            activations.measure_output(pending, place, module, main, self._offset)
        kind = kind_of(module)
        first = next((t for t in activations.tensors_in(args) if kernels.is_number_tensor(t)), None)
        if first is not None and kind in ("linear", "convolution", "norm", "recurrent", "activation", "attention"):
            if batch.takes(first):
                batch.input(place, first)
            else:
                activations.measure_input(pending, place, first, self._offset)
        if (
            kind == "norm"
            and isinstance(module, nn.modules.batchnorm._BatchNorm)
            and module.training
            and main.dim() > 1
        ):
            pending.add("module.normalized_samples", place, float(main.numel() // max(1, main.shape[1])))
            pending.add("module.normalized_batch", place, float(main.shape[0]))
            if module.running_var is not None and first is not None and first.dim() > 1:
                block = kernels.unit_view(kernels.rows(first, 65536), 1)
                ratio = (block.var(0, correction=0) + module.eps) / (module.running_var.detach().float() + module.eps)
                pending.add("module.running_variance_error", place, ratio.log10().abs().mean())

    def _own(self, output: Any, path: str, main: Tensor) -> None:
        if len(self.owners) > _OWNERS:
            self.owners.clear()
            self.values.clear()
        for tensor in activations.tensors_in(output):
            node = tensor.grad_fn
            if node is not None and not is_functional(tensor):
                paths = self.owners.setdefault(node, [])
                if path not in paths:
                    paths.append(path)
                if tensor.numel() <= 1_000_000:
                    self.values[node] = tensor

    # inputs and evaluation ---------------------------------------------------------------------------------------

    def _measure_inputs(self, path: str, args: Any, keywords: Any, step: int) -> None:
        if self._evaluating and self._evaluation_forwards > _EVALUATION_FORWARDS:
            return
        calls = self._input_calls.get(path, 0)
        if args:
            self._input_calls[path] = calls + 1
        if calls >= _INPUT_CALLS and not self._evaluating:
            return
        named = [(str(index), value) for index, value in enumerate(args)] + list((keywords or {}).items())
        kind = "evaluation" if self._evaluating else "input"
        for name, value in named[:6]:
            for tensor in list(activations.tensors_in(value))[:2]:
                if tensor.requires_grad or tensor.numel() == 0 or tensor.is_complex() or is_functional(tensor):
                    continue
                if tensor.layout != torch.strided or tensor.device.type == "meta":
                    continue
                place = self._recorder.place(
                    kind, f"{path}[{name}]" if path else f"[{name}]", {"argument": name, "module": path}
                )
                inputs.measure_input_batch(self._recorder.pending, place, tensor)
                if kind == "input" and tensor.is_floating_point() and tensor.dim() > 1:
                    self._input_shapes.setdefault(f"{path}[{name}]" if path else f"[{name}]", tuple(tensor.shape[1:]))
                if tensor.is_floating_point() and tensor.device.type == "cpu":
                    self._locate_nonfinite(tensor, path, name, place, step)

    def _locate_nonfinite(self, tensor: Tensor, path: str, name: str, place: int, step: int) -> None:
        if self._nonfinite_input or bool(torch.isfinite(tensor.sum())):
            return
        data = inputs.locate_nonfinite(tensor)
        if data["count"]:
            self._nonfinite_input = True
            where = {"module": path, "argument": name, "evaluation": self._evaluating}
            self._recorder.fact("nonfinite.input", step, place, {**data, **where})

    def look_at_inputs(self, calls: list[KeptCall], step: int) -> bool:
        """Something is not finite in this step: whether all that its outermost modules read could be looked at.

        It does not matter how the step is observed: what a call read was kept.
        """
        kept = [call for call in calls if not call.changed]
        for call in kept:
            path = self._watched.module_names.get(id(call.module), "")
            for name, value in [*((str(i), value) for i, value in enumerate(call.args)), *call.keywords.items()]:
                for tensor in activations.tensors_in(value):
                    if tensor.grad_fn is None and kernels.is_number_tensor(tensor) and not is_functional(tensor):
                        details = {"argument": name, "module": path}
                        place = self._recorder.place("input", f"{path}[{name}]", details)
                        self._locate_nonfinite(tensor, path, name, place, step)
        return bool(calls) and len(kept) == len(calls)

    def dropout(self, probability: float, step: int) -> None:
        """A call of functional dropout outside nn.Dropout, noted once per place in the user's code."""
        frame = source.user_frame(2)
        where = source.location(frame)
        if where is None or where in self._dropouts or self._inside_dropout_module:
            return
        self._dropouts.add(where)
        data = {"probability": probability, "source": where, "module": self._stack[-1] if self._stack else None}
        self._recorder.fact("model.functional_dropout", step, None, data)

    def inputs_of_graph(self, roots: list[Tensor], step: int) -> None:
        """Inputs of a step that carried no module hook, from what the first operations saved.

        An operation whose first operand needs no gradient read it from the data.
        """
        wanted = {shape: name for name, shape in self._input_shapes.items()}
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

    def _evaluation(self, module: nn.Module, path: str, output: Any, outermost: bool) -> None:
        if self._evaluation_forwards > _EVALUATION_FORWARDS:
            return
        if has_mode(module) or outermost:
            place = self._place(module, path)
            self._recorder.add("evaluation.training", place, float(module.training))
        if outermost:
            main = activations.main_output(output)
            if main is not None and not is_functional(main):
                place = self._place(module, path)
                values = kernels.flat(main)
                self._recorder.add("evaluation.output_std", place, values.std(correction=0))

    @property
    def evaluating(self) -> bool:
        return self._evaluation_forwards > 0

    # step ---------------------------------------------------------------------------------------------------------

    def value_of(self, node: Node) -> Tensor | None:
        """The output that a node made, when it is a module's output or rearranges one."""
        found = self.values.get(node)
        if found is None:
            found = self.values.get(autograd.skip_rearranging(node))
        return found.detach() if found is not None else None

    def close_step(self) -> None:
        """The forwards of this backward are over: reduce what waits and count calls."""
        self._batch.flush()
        for place, calls in self._calls.items():
            if calls != self._calls_before.get(place):
                self._recorder.add("module.calls", place, float(calls))
        self._calls_before, self._calls = self._calls, {}
        self._offset += 1
        self._depth = 0
        self._evaluation_forwards = 0
        self._input_calls.clear()

    def release(self) -> None:
        """Let go of everything that keeps a graph alive, and of hooks on tensors that the user may keep."""
        self._batch.flush()
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self.owners.clear()
        self.values.clear()
        self._seen_outputs.clear()
        self._kept.clear()
        self._calls.clear()
        self._depth = 0
        self._evaluation_forwards = 0
        self._input_calls.clear()
        self.saved_tensors_hooked = False
