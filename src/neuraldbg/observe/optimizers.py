"""The optimizers of a run: their names, settings and learning rates, and which parameters they hold."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from neuraldbg.observe.watched import Watched

if TYPE_CHECKING:
    from neuraldbg.observe.recorder import Recorder

#: Settings of a parameter group that are read and kept.
_SETTINGS = (
    "lr", "momentum", "weight_decay", "betas", "eps", "nesterov", "dampening", "alpha",
    "amsgrad", "maximize", "decoupled_weight_decay",
)  # fmt: skip


class Optimizers:
    """Every optimizer that has stepped. One per session; holds them weakly."""

    def __init__(self, recorder: Recorder, watched: Watched) -> None:
        self._recorder = recorder
        self._watched = watched
        self._optimizers: dict[int, weakref.ref[torch.optim.Optimizer]] = {}
        self._names: dict[int, str] = {}
        self._settings: dict[int, str] = {}
        #: Learning rates of each optimizer's groups as they were last noted; none where identity does not tell.
        self.rates_now: dict[int, list[Any]] = {}
        self._rates: dict[tuple[int, int], float] = {}
        self._membership = ""
        self._membership_checks = 0

    # names -------------------------------------------------------------------------------------------------------

    def place(self, optimizer: torch.optim.Optimizer) -> int:
        key = id(optimizer)
        if key not in self._names or self._optimizers[key]() is not optimizer:
            self._names[key] = (
                f"{type(optimizer).__name__}#{len(self._names)}" if self._names else type(optimizer).__name__
            )
            self._optimizers[key] = weakref.ref(optimizer)
        return self._recorder.place("optimizer", self._names[key], {"class": type(optimizer).__name__})

    def name(self, optimizer: torch.optim.Optimizer) -> str:
        """The name of an optimizer's place."""
        self.place(optimizer)
        return self._names[id(optimizer)]

    def alive(self) -> list[torch.optim.Optimizer]:
        """Those that are still there, in order of appearance."""
        return [optimizer for reference in self._optimizers.values() if (optimizer := reference()) is not None]

    def held(self) -> set[int]:
        """Identities of all parameters that some optimizer holds."""
        return {id(p) for optimizer in self.alive() for group in optimizer.param_groups for p in group["params"]}

    # settings ----------------------------------------------------------------------------------------------------

    def note_rates(self, optimizer: torch.optim.Optimizer, step: int) -> None:
        """Learning rates alone, where one of them is not the object that it was at the step before."""
        known, groups = self.rates_now.get(id(optimizer)), optimizer.param_groups
        if known is not None and len(known) == len(groups):
            # A generator would cost more than the comparison.
            for group, rate in zip(groups, known):
                if group.get("lr") is not rate:
                    break
            else:
                return
        self.settings(optimizer, step, closely=False)

    def settings(self, optimizer: torch.optim.Optimizer, step: int, closely: bool = True) -> None:
        """Learning rates at every change, at every step; other settings as a fact at every change, where
        ``closely``."""
        key = id(optimizer)
        groups = optimizer.param_groups
        place = self.place(optimizer)
        self.rates_now[key] = [group.get("lr") for group in groups]
        for index, group in enumerate(groups[:8]):
            rate = group.get("lr")
            if isinstance(rate, Tensor):
                # The same tensor is filled anew by a scheduler: it cannot be recognized by identity.
                self.rates_now[key][index] = None
                rate = float(rate) if rate.device.type == "cpu" else None
            if isinstance(rate, (int, float)) and self._rates.get((place, index)) != rate:
                self._rates[(place, index)] = float(rate)
                name = self._names[key] + (f".group{index}" if index else "")
                self._recorder.observe(
                    "optimizer.learning_rate", step, self._recorder.place("optimizer", name), float(rate)
                )
        if not closely:
            return
        signature = repr(
            [group.get(name) for group in groups[:8] for name in ("weight_decay", "momentum", "eps")]
        ) + str(len(groups))
        if self._settings.get(place) != signature:
            self._settings[place] = signature
            self._recorder.fact("optimizer.settings", step, place, _describe(optimizer, self._watched))

    # membership --------------------------------------------------------------------------------------------------

    def membership(self, step: int) -> None:
        """Which parameters train, have gradients, and are held by an optimizer: a fact at every change."""
        self._membership_checks += 1
        if self._membership_checks > 5 and self._membership_checks % 10:
            return
        self.membership_now(step)

    def membership_now(self, step: int) -> None:
        held, stepping = self.held(), len(self.alive())
        rows = {
            name: [int(parameter.requires_grad), int(id(parameter) in held), int(parameter.grad is not None)]
            for name, parameter in self._watched.parameters()
        }
        foreign = len(held - self._watched.parameter_names.keys())
        # Gradients come and go with zero_grad; only the lasting columns make a change.
        signature = repr([(name, row[:2]) for name, row in rows.items()]) + str(foreign)
        if signature != self._membership:
            self._membership = signature
            data: dict[str, Any] = {"parameters": rows, "optimizers": stepping, "foreign": foreign}
            data["elements"] = {name: parameter.numel() for name, parameter in self._watched.parameters()}
            self._recorder.fact("model.membership", step, None, data)


def _describe(optimizer: torch.optim.Optimizer, watched: Watched) -> dict[str, Any]:
    groups = []
    for group in optimizer.param_groups[:8]:
        entry: dict[str, Any] = {}
        for name in _SETTINGS:
            value = group.get(name)
            if isinstance(value, Tensor):
                value = float(value) if value.device.type == "cpu" else None
            if isinstance(value, (tuple, list)):
                value = [float(item) for item in value if isinstance(item, (int, float))]
            if isinstance(value, (int, float, bool, list)):
                entry[name] = value
        entry["parameters"] = len(group["params"])
        entry["watched"] = sum(id(p) in watched.parameter_names for p in group["params"])
        entry["elements"] = sum(p.numel() for p in group["params"])
        groups.append(entry)
    return {"class": type(optimizer).__name__, "groups": groups}
