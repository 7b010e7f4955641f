"""What the optimizer's hooks see of the parameters: gradients, weights, updates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from neuraldbg.observe import kernels
from neuraldbg.observe.optimizers import Optimizers
from neuraldbg.observe.quantities import parameters as quantities
from neuraldbg.observe.watched import Watched, fan_in_of, parameter_details

if TYPE_CHECKING:
    from neuraldbg.observe.recorder import Recorder

#: Observed steps at which symmetry between units is measured; it is slow to change.
_SYMMETRY_STEPS = frozenset({0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000})


class _Snapshot:
    """Sampled weights and gradients just before a step."""

    def __init__(self, parameters: list[Tensor], sample: quantities.ParameterSample) -> None:
        self.parameters = parameters
        self.sample = sample
        self.weights = sample.take(parameters)
        self.gradients = sample.take([p.grad for p in parameters if p.grad is not None])


class UpdateObserver:
    """One per session; keeps the sampled gradient of the observed step before, per optimizer."""

    def __init__(self, recorder: Recorder, watched: Watched) -> None:
        self._recorder = recorder
        self._watched = watched
        self.optimizers = Optimizers(recorder, watched)
        self._parameter_places: dict[tuple[int, str], int] = {}
        self._snapshots: dict[int, _Snapshot] = {}
        self._gradients_before: dict[int, tuple[Tensor, float]] = {}
        self._updates_before: dict[int, Tensor] = {}
        self._samples: dict[int, tuple[tuple[int, ...], quantities.ParameterSample]] = {}
        self._initial: set[int] = set()
        self._observed = 0
        #: Per optimizer the gradient that it holds from before its last step.
        self.left: dict[int, Tensor | float] = {}
        self._stepped_before: set[int] = set()

    def _parameter_place(self, parameter: Tensor) -> int | None:
        name = self._watched.parameter_names.get(id(parameter))
        if name is None:
            return None
        key = (id(parameter), name)
        place = self._parameter_places.get(key)
        if place is None:
            place = self._recorder.place("parameter", name, parameter_details(parameter))
            self._parameter_places[key] = place
        return place

    # gradients ---------------------------------------------------------------------------------------------------

    def gradients_left(self, scale: float, first: bool) -> None:
        """Called as a backward begins: how much gradient each optimizer's parameters hold from before.

        Kept is the least that any backward since the optimizer's last step found. It is not zero only where the
        gradients were never cleared: a loop with two optimizers clears each of them at another moment, and one that
        accumulates finds gradients at all backwards but the first. Where that first one was not observed (``first`` is
        false at the first call), nothing is said.
        """
        for optimizer in self.optimizers.alive():
            key = id(optimizer)
            if isinstance(self.left.get(key), float):
                continue
            if not first and key not in self.left:
                self.left[key] = 0.0
                continue
            gradients = [
                quantities.dense(p.grad) for g in optimizer.param_groups for p in g["params"] if p.grad is not None
            ]
            gradients = [g for g in gradients if g.device.type != "meta" and g.numel()]
            if not gradients:
                self.left[key] = 0.0
                continue
            total = torch.stack([n.float() for n in torch._foreach_norm(gradients)]).norm() / scale
            before = self.left.get(key)
            self.left[key] = total if before is None else torch.fmin(torch.as_tensor(before), total)

    def after_backward(self, step: int, scale: float) -> None:
        """The norm of all gradients as the backward left them, unscaled: before any clipping."""
        gradients = [quantities.dense(p.grad) for _, p in self._watched.parameters() if p.grad is not None]
        gradients = [g for g in gradients if g.device.type != "meta" and g.numel()]
        if gradients:
            norms = [n.float() for n in torch._foreach_norm(gradients)]
            total = torch.stack(norms).norm() / scale
            self._recorder.add("gradient.norm_after_backward", self._recorder.place("run", "gradients"), total)

    def before_unscale(self, optimizer: torch.optim.Optimizer, scale: float) -> None:
        """The norm of the gradients as GradScaler.step receives them: a clip under the scale shows."""
        gradients = [
            quantities.dense(p.grad) for group in optimizer.param_groups for p in group["params"] if p.grad is not None
        ]
        if gradients:
            total = torch.stack([n.float() for n in torch._foreach_norm(gradients)]).norm()
            place = self._recorder.place("run", "scaler")
            self._recorder.add("scaler.norm_in_step", place, total)
            self._recorder.add("scaler.scale_in_step", place, float(scale))

    def before_step(self, optimizer: torch.optim.Optimizer, scale: float) -> bool:
        """Measure what the step starts from; true when a gradient is not finite (known at once on the CPU only)."""
        recorder = self._recorder
        held = [p for group in optimizer.param_groups for p in group["params"]]
        mine = [p for p in held if id(p) in self._watched.parameter_names and p.device.type != "meta" and _held(p)]
        anywhere = self.optimizers.held()
        outside = [
            p for _, p in self._watched.parameters() if id(p) not in anywhere and p.grad is not None and _held(p)
        ]
        for parameter in outside[:500]:
            place = self._parameter_place(parameter)
            if place is not None:
                recorder.add("parameter.gradient_norm", place, _norm(quantities.dense(parameter.grad)))  # type: ignore[arg-type]
                recorder.add("parameter.update_norm", place, 0.0)
        self._measure_initial(mine)
        measured = [p for p in mine if p.grad is not None and p.grad.numel()]
        for parameter in mine:
            if parameter.grad is None:
                place = self._parameter_place(parameter)
                if place is not None:
                    recorder.add("parameter.has_gradient", place, 0.0)
        if not measured:
            return False
        gradients = [quantities.dense(p.grad) for p in measured if p.grad is not None]
        norms = [norm.float() for norm in torch._foreach_norm(gradients)]
        for parameter, norm in zip(measured, norms):
            place = self._parameter_place(parameter)
            if place is not None:
                recorder.add("parameter.has_gradient", place, 1.0)
                recorder.add("parameter.gradient_norm", place, norm)
        same_device = len({n.device for n in norms}) == 1
        total = torch.stack(norms).norm() if same_device else torch.tensor(float("nan"))
        run = recorder.place("run", self.optimizers.name(optimizer))
        recorder.add("gradient.norm", run, total)
        if same_device:
            self._snapshot(optimizer, measured)
        if id(optimizer) in self.left and id(optimizer) in self._stepped_before:
            recorder.add("gradient.left_norm", run, self.left[id(optimizer)])
        self._observed += 1
        if self._observed - 1 in _SYMMETRY_STEPS:
            for parameter in measured:
                place = self._parameter_place(parameter)
                if place is not None:
                    quantities.measure_symmetry(recorder.pending, place, parameter)
        return total.device.type == "cpu" and same_device and not math.isfinite(float(total))

    def _measure_initial(self, parameters: list[Tensor]) -> None:
        for parameter in parameters:
            if id(parameter) in self._initial:
                continue
            self._initial.add(id(parameter))
            place = self._parameter_place(parameter)
            if (
                place is None
                or not parameter.is_floating_point()
                or parameter.layout != torch.strided
                or quantities.dense(parameter).numel() < 2
            ):
                continue
            values = quantities.dense(parameter).reshape(-1)[:200_000].float()
            deviation, mean = torch.std_mean(values, correction=0)
            fan_in = fan_in_of(parameter)
            self._recorder.add("parameter.initial_std", place, deviation)
            self._recorder.add("parameter.initial_mean", place, mean)
            if fan_in:
                self._recorder.add("parameter.initial_scale", place, deviation * math.sqrt(fan_in))

    def _snapshot(self, optimizer: torch.optim.Optimizer, measured: list[Tensor]) -> None:
        key = id(optimizer)
        identity = tuple(id(p) for p in measured)
        known = self._samples.get(key)
        if known is None or known[0] != identity:
            known = self._samples[key] = (identity, quantities.ParameterSample(measured))
            self._gradients_before.pop(key, None)
            self._updates_before.pop(key, None)
        snapshot = self._snapshots[key] = _Snapshot(measured, known[1])
        recorder = self._recorder
        run = recorder.place("run", self.optimizers.name(optimizer))
        gradients = snapshot.gradients
        if gradients.numel() != snapshot.weights.numel():
            # A sparse gradient has fewer elements than its parameter: no elementwise comparison.
            del self._snapshots[key]
            return
        recorder.add("gradient.zero_share", run, (gradients == 0).float().mean())
        norm = gradients.norm()
        before = self._gradients_before.get(key)
        if before is not None and before[0].numel() == gradients.numel():
            recorder.add("gradient.cosine", run, torch.dot(gradients, before[0]) / (norm * before[1]).clamp_min(1e-30))
        self._gradients_before[key] = (gradients, norm)  # type: ignore[assignment]
        for parameter, value in zip(measured, known[1].norms(snapshot.weights)):
            place = self._parameter_place(parameter)
            if place is not None:
                recorder.add("parameter.weight_norm", place, value)

    # after the step ----------------------------------------------------------------------------------------------

    def stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """Called after every step, observed or not: what was left is counted anew from here."""
        if self.left:
            self.left.pop(id(optimizer), None)
        self._stepped_before.add(id(optimizer))

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        key = id(optimizer)
        snapshot = self._snapshots.pop(key, None)
        if snapshot is None:
            return
        recorder = self._recorder
        after = snapshot.sample.take(snapshot.parameters)
        update = after - snapshot.weights
        run = recorder.place("run", self.optimizers.name(optimizer))
        norm = update.norm()
        recorder.add("update.norm", run, norm)
        recorder.add("update.ratio", run, norm / snapshot.weights.norm().clamp_min(1e-30))
        recorder.add("update.dot_gradient", run, torch.dot(update, snapshot.gradients))
        recorder.add("update.largest", run, update.abs().amax() if update.numel() else 0.0)
        before = self._updates_before.get(key)
        if before is not None and before.numel() == update.numel():
            recorder.add("update.cosine", run, torch.dot(update, before) / (norm * before.norm()).clamp_min(1e-30))
        self._updates_before[key] = update
        elements = float(update.numel())
        recorder.add("update.elements", run, elements)
        for parameter, value in zip(snapshot.parameters, snapshot.sample.norms(update)):
            place = self._parameter_place(parameter)
            if place is not None:
                recorder.add("parameter.update_norm", place, value)
        if any(p.dtype in (torch.float16, torch.bfloat16) for p in snapshot.parameters):
            self._unchanged(snapshot, update)

    def _unchanged(self, snapshot: _Snapshot, update: Tensor) -> None:
        """In 16 bit: entries with a gradient that a step left where they were."""
        sizes = snapshot.sample.sizes
        for parameter, moved, gradient in zip(
            snapshot.parameters, update.split(sizes), snapshot.gradients.split(sizes)
        ):
            place = self._parameter_place(parameter)
            if place is not None and parameter.dtype in (torch.float16, torch.bfloat16):
                has_gradient = gradient != 0
                share = ((moved == 0) & has_gradient).float().sum() / has_gradient.float().sum().clamp_min(1)
                self._recorder.add("parameter.unchanged_share", place, share)
                self._recorder.add("parameter.gradient_zero_share", place, (gradient == 0).float().mean())


def _held(parameter: Tensor) -> int:
    """Elements that this process holds: of a sharded parameter with fewer rows than ranks some ranks hold none."""
    return kernels.local(parameter).numel()


def _norm(value: Tensor) -> Tensor:
    return torch.linalg.vector_norm(value.float() if value.dtype != torch.float64 else value).float()
