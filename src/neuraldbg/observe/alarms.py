"""What happens at the first loss or gradient that is not finite: it is traced to its origin in that very step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from neuraldbg.observe import autograd, forensics, kernels
from neuraldbg.observe.autograd import Node, operation
from neuraldbg.observe.inputs_kept import InputKeeper
from neuraldbg.observe.quantities import parameters as quantities
from neuraldbg.observe.replay import look_again
from neuraldbg.observe.watched import Watched

if TYPE_CHECKING:
    from neuraldbg.observe.forward import ForwardObserver
    from neuraldbg.observe.recorder import Recorder

Policy = Literal["record", "raise", "skip"]


class Alarms:
    """One per session."""

    def __init__(self, recorder: Recorder, watched: Watched, forward: ForwardObserver, policy: Policy) -> None:
        self._recorder = recorder
        self._watched = watched
        self._forward = forward
        self.policy = policy
        self.keeper = InputKeeper()
        recorder.pending.on_late_loss = self.late_loss
        #: Called with the kind of alarm where the policy is "raise"; its error reaches the user's loop.
        self.on_raise: Callable[[str, int], None] | None = None
        #: What the policy makes of this step: None, or the kind of alarm.
        self.due: str | None = None
        self._known: set[str] = set()
        #: The parameter whose gradient is read at every step.
        self.sentinel: Tensor | None = None
        self._skipped: list[tuple[Tensor, Tensor]] = []

    # loss --------------------------------------------------------------------------------------------------------

    def loss(self, roots: list[Tensor], step: int, value: float) -> None:
        """A loss is not finite; its graph is still there."""
        self.due = "loss"
        if "loss" in self._known:
            return
        self._known.add("loss")
        data: dict[str, Any] = {"value": "nan" if math.isnan(value) else "inf", "step": step}
        data["inputs_seen"] = self._inputs_seen(step)
        seen = bool(self._forward.owners)
        root = roots[0].grad_fn
        if root is not None and not self._forward.saved_tensors_hooked and not autograd.saved_tensors_are_hooked():
            owners = self._forward.owners if seen else self._owners_by_parameters(root)
            data["producer"] = forensics.find_producer(root, owners)
        data["bad_parameters"] = [
            name for name, parameter in self._watched.parameters() if not quantities_finite(parameter)
        ][:50]
        again = self._again(backward=False)
        data["second_forward"] = again
        producer = data.get("producer")
        if producer and producer.get("kind") == "operation" and not seen:
            # Without module hooks the graph knows modules by their parameters only: the second forward knows better.
            if again.get("found"):
                producer["module"] = again["module"]
            elif "skipped" not in again:
                producer["module"] = None
        if producer and again.get("source"):
            producer["source"] = again["source"]
        self._recorder.fact("nonfinite.loss", step, None, data)

    def late_loss(self, step: int, value: float) -> None:
        """A loss on a device turns out, when it is read later, not to have been finite: its graph is gone."""
        if "loss" not in self._known:
            self._known.add("loss")
            data = {"value": "nan" if math.isnan(value) else "inf", "step": step, "late": True}
            data["bad_parameters"] = [n for n, p in self._watched.parameters() if not quantities_finite(p)][:50]
            self._recorder.fact("nonfinite.loss", step, None, data)

    def _owners_by_parameters(self, root: Node) -> dict[Node, list[str]]:
        """Nodes that read a parameter → the module that holds it."""
        owners: dict[Node, list[str]] = {}
        for node in autograd.walk(root):
            for child in autograd.children(node):
                below = child
                if operation(below) in ("T", "Transpose", "ToCopy") and autograd.children(below):
                    below = autograd.children(below)[0]
                if operation(below) == "Parameter":
                    name = self._watched.parameter_names.get(id(getattr(below, "variable", None)))
                    if name is not None:
                        owners[node] = [name.rpartition(".")[0]]
        return owners

    def _inputs_seen(self, step: int) -> bool:
        return self._forward.inputs.look_again(self.keeper.calls(), self._watched.module_names, step)

    def inputs_of_step(self, roots: list[Tensor], step: int) -> None:
        """Measure what a forward read that carried no module hook: as it was kept, else what its graph has saved."""
        calls = [call for call in self.keeper.calls() if not call.changed]
        if calls:
            self._forward.inputs.of_calls(calls, self._watched.module_names, step)
        else:
            self._forward.inputs.of_graph(roots, step)

    def _again(self, backward: bool) -> dict[str, Any]:
        names = {**self._watched.module_names}
        try:
            return look_again(self.keeper.calls(), names, backward)
        except Exception as error:
            return {"skipped": f"the second forward failed: {type(error).__name__}: {str(error)[:300]}"}

    # gradient ----------------------------------------------------------------------------------------------------

    def choose_sentinel(self, root: Tensor) -> None:
        """The small parameter that lies furthest from the loss: what is not finite above it reaches its gradient."""
        found: Tensor | None = None
        for node in autograd.walk(root.grad_fn) if root.grad_fn is not None else []:
            if operation(node) == "Parameter":
                variable = getattr(node, "variable", None)
                if isinstance(variable, Tensor) and id(variable) in self._watched.parameter_names:
                    small = variable.numel() <= 4096 or found is None or found.numel() > 4096
                    found = variable if small else found
        self.sentinel = found

    def gradients_bad(self, optimizer: torch.optim.Optimizer) -> bool:
        """Whether gradients are not finite, as far as an unobserved step looks.

        Under "record" one small parameter is read, the one furthest from the loss; under "raise" and "skip" all are.
        Nothing is read where that would wait for a device, unless the policy needs it.
        """
        if self.policy != "record":
            return self._any_bad(optimizer)
        sentinel = self.sentinel
        if sentinel is None:
            return False
        gradient = sentinel.grad
        if gradient is None or not gradient.is_cpu or gradient.layout is not torch.strided:
            return False
        if type(gradient) is not Tensor:
            # Each rank has a schedule of its own: a collective started here would meet one of the training elsewhere.
            gradient = kernels.local(gradient)
        total: float = gradient.sum().item()
        return not -math.inf < total < math.inf

    def _any_bad(self, optimizer: torch.optim.Optimizer) -> bool:
        gradients = [
            quantities.dense(p.grad) for g in optimizer.param_groups for p in g["params"] if p.grad is not None
        ]
        gradients = [g for g in gradients if g.numel() and g.device.type != "meta"]
        if not gradients:
            return False
        norms = torch._foreach_norm(gradients, float("inf"))
        return not all(bool(torch.isfinite(norm)) for norm in norms)

    def gradient(self, optimizer: torch.optim.Optimizer, step: int, hazards: list[str]) -> None:
        """A gradient is not finite, and the optimizer has not stepped yet."""
        self.due = self.due or "gradient"
        if "gradient" in self._known:
            return
        self._known.add("gradient")
        named = [
            (self._watched.parameter_names.get(id(p), "?"), p.grad)
            for group in optimizer.param_groups
            for p in group["params"]
            if p.grad is not None
        ]
        bad = forensics.first_bad_gradients(named)
        data: dict[str, Any] = {"parameters": bad[:50], "bad": len(bad), "of": len(named), "hazards": hazards}
        data["step"] = step
        data["inputs_seen"] = self._inputs_seen(step)
        if "loss" not in self._known:
            data["second_forward"] = self._again(backward=True)
        self._recorder.fact("nonfinite.gradient", step, None, data)

    # policy ------------------------------------------------------------------------------------------------------

    def before_step(self, optimizer: torch.optim.Optimizer, step: int) -> None:
        """Under "skip": hide the gradients from the optimizer for this step, which leaves weights and state alone."""
        if self.policy != "skip" or self.due is None:
            return
        place = self._recorder.place("optimizer", type(optimizer).__name__)
        self._recorder.observe("optimizer.step_left_out", step, place, 1.0)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._skipped.append((parameter, parameter.grad))
                    parameter.grad = None

    def after_step(self) -> None:
        if not self._skipped:
            return
        for parameter, gradient in self._skipped:
            parameter.grad = gradient
        self._skipped.clear()

    def raise_if_due(self, step: int) -> None:
        """Under "raise": end the user's loop here."""
        if self.policy == "raise" and self.due is not None and self.on_raise is not None:
            kind, self.due = self.due, None
            self.on_raise(kind, step)

    def close_round(self) -> None:
        self.due = None
        self.keeper.release()


def quantities_finite(parameter: Tensor) -> bool:
    """Of a sharded parameter the part that this process holds."""
    held = kernels.held(parameter)
    return held is None or held.layout != torch.strided or bool(torch.isfinite(held).all())
