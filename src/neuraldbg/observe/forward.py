"""What module hooks see: calls, outputs, gradients at outputs, evaluation forwards."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from neuraldbg.observe import autograd, kernels, source
from neuraldbg.observe.autograd import Node
from neuraldbg.observe.batched import Batch
from neuraldbg.observe.forward_inputs import ForwardInputs, is_functional
from neuraldbg.observe.module_paths import ModulePaths
from neuraldbg.observe.quantities import activations
from neuraldbg.observe.watched import Watched, has_mode, kind_of

if TYPE_CHECKING:
    from neuraldbg.observe.recorder import Recorder
    from neuraldbg.observe.schedule import Schedule

#: Forwards without gradients that are looked at between two training steps; the rest of a validation is alike.
_EVALUATION_FORWARDS = 3
#: Where torch's own modules are.
_MODULES = os.path.dirname(os.path.abspath(nn.modules.__file__)) + os.sep
#: Owners kept when forwards run with gradients and no backward ever comes: more would keep graphs alive.
_OWNERS = 20000


class ForwardObserver:
    """Collects what one step's forwards show."""

    def __init__(self, recorder: Recorder, watched: Watched, discover: bool) -> None:
        self._recorder = recorder
        self._watched = watched
        self._paths = ModulePaths(recorder, watched, discover)
        self.inputs = ForwardInputs(recorder)
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
        self._offset = 0

    def unseen(self) -> list[str]:
        """Watched modules without children whose output was never seen."""
        return self._paths.unseen()

    # callbacks ---------------------------------------------------------------------------------------------------

    def begins(self, module: nn.Module, args: Any, step: int) -> None:
        path = self._paths.path(module, outermost=self._depth == 0)
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
        place = self._paths.place(module, path)
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
            read = next(activations.readable_in(args), None)
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
                others = [kernels.local(tensor) for tensor in activations.beside(output, main)]
                self._measure(module, place, args, kernels.local(main), others)
            # A leaf is the user's own parameter: a hook on it would be copied and saved with the model.
            if main.grad_fn is not None:
                quantity = "module.output_gradient_norm" if call == last else "module.first_call_gradient_norm"
                hook = activations.gradient_hook(recorder.pending, quantity, place, schedule.enter, schedule.leave)
                # An output that is a view made under no_grad refuses hooks; its gradient stays unknown.
                with contextlib.suppress(RuntimeError):
                    self._hooks.append(main.register_hook(hook))

    def _measure(self, module: nn.Module, place: int, args: Any, main: Tensor, others: list[Tensor]) -> None:
        pending = self._recorder.pending
        batch = self._batch
        if batch.takes(main) and not others:
            batch.output(place, main, activations.channel_dimension(module, main))
        else:
            activations.measure_output(pending, place, module, main, self._offset, others)
        kind = kind_of(module)
        read = next(activations.readable_in(args), None)
        first = None if read is None else kernels.local(read)
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

    def _measure_inputs(self, path: str, args: Any, keywords: Any, step: int) -> None:
        if not self._evaluating or self._evaluation_forwards <= _EVALUATION_FORWARDS:
            self.inputs.measure(path, args, keywords, step, self._evaluating)

    # dropout and evaluation --------------------------------------------------------------------------------------

    def dropout(self, probability: float, step: int) -> None:
        """A call of functional dropout outside nn.Dropout, noted once per place in the user's code."""
        frame = source.user_frame(2)
        where = source.location(frame)
        if where is None or where in self._dropouts or self._inside_dropout_module:
            return
        self._dropouts.add(where)
        data = {"probability": probability, "source": where, "module": self._stack[-1] if self._stack else None}
        self._recorder.fact("model.functional_dropout", step, None, data)

    def dropout_in_evaluation(self, probability: float, step: int) -> None:
        """A functional dropout that drops in a model in eval mode, noted once per place in the user's code.

        Dropout modules are left out: one that was put in train mode by itself was meant to drop.
        """
        frame = source.user_frame(2)
        where = source.location(frame)
        if where is None or f"evaluation {where}" in self._dropouts:
            return
        self._dropouts.add(f"evaluation {where}")
        if any(module.training for _, module in self._watched.roots()) or source.called_from(_MODULES, 2):
            return
        self._recorder.fact("evaluation.functional_dropout", step, None, {"probability": probability, "source": where})

    def _evaluation(self, module: nn.Module, path: str, output: Any, outermost: bool) -> None:
        if self._evaluation_forwards > _EVALUATION_FORWARDS:
            return
        if has_mode(module) or outermost:
            place = self._paths.place(module, path)
            self._recorder.add("evaluation.training", place, float(module.training))
        if outermost:
            main = activations.main_output(output)
            if main is not None and not is_functional(main):
                place = self._paths.place(module, path)
                values = kernels.flat(kernels.local(main))
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
        return kernels.local(found.detach()) if found is not None else None

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
        self.inputs.close_step()

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
        self.inputs.close_step()
        self.saved_tensors_hooked = False
