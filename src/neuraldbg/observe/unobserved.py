"""The short way through a step that is not observed. Most steps of a long run are such, and this is what they cost.

Each method does all that a callback has to do in the usual case: a backward from a known line with a loss on the CPU,
an optimizer with the learning rates that it had, a round that ends as the one before. It answers false, with nothing
done, where anything is unusual and the long way is due. Little is called from here: after the kernels of a step each
function finds its code out of the processor's caches, and takes several times as long as it does in a tight loop.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable
from types import FrameType
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from neuraldbg.errors import TrainingFailure
from neuraldbg.observe import source
from neuraldbg.observe.schedule import Mode

if TYPE_CHECKING:
    from neuraldbg.observe.alarms import Alarms
    from neuraldbg.observe.loss import LossObserver
    from neuraldbg.observe.state import State
    from neuraldbg.observe.update import UpdateObserver

#: Lines that call backward which are remembered.
_LINES = 1000


class Unobserved:
    """One per block."""

    def __init__(self, state: State, loss: LossObserver, update: UpdateObserver, alarms: Alarms) -> None:
        self._state = state
        self._rounds = state.rounds
        self._recorder = state.recorder
        self._schedule = state.schedule
        self._loss = loss
        self._update = update
        self._alarms = alarms
        #: Where backwards were called, (code, instruction, instruction of the caller) → (turn, place of its losses).
        self._known: dict[tuple[int, int, int], tuple[Hashable, Hashable]] = {}
        #: Called with a loss that looks wrong; with an optimizer about to step on a gradient that is not finite; with
        #: how the next step is to be observed.
        self.on_loss: Callable[[Tensor, float], None] = lambda root, value: None
        self.on_gradient: Callable[[torch.optim.Optimizer], None] = lambda optimizer: None
        self.on_next: Callable[[Mode], None] = lambda mode: None

    def learn(self, frame: FrameType, turn: Hashable, place: Hashable) -> None:
        """A backward was called from this frame of the user's."""
        caller = frame.f_back
        if caller is not None and len(self._known) < _LINES:
            self._known[(id(frame.f_code), frame.f_lasti, caller.f_lasti)] = (turn, place)

    def backward(self, root: object) -> bool:
        """A backward begins: the value of its loss is kept. To be called by the callback that torch calls."""
        rounds = self._rounds
        # Whether steps are counted by optimizer is open until one has stepped.
        if rounds.optimizer_steps == 0 or not isinstance(root, Tensor) or not root.is_cpu or root.numel() != 1:
            return False
        timing = self._schedule.timing
        if timing:
            self._schedule.enter()
        try:
            frame: FrameType | None = sys._getframe(3)
            libraries = source.libraries
            while frame is not None and libraries.get(frame.f_code.co_filename) is True:
                frame = frame.f_back
            caller = frame.f_back if frame is not None else None
            if frame is None or caller is None:
                return False
            known = self._known.get((id(frame.f_code), frame.f_lasti, caller.f_lasti))
            if known is None or (self._recorder.closed_step != rounds.round and rounds.begins_round(known[0])):
                return False
            value = self._loss.quick_value(root, known[1])
            if value is None:
                return False
            rounds.backward(known[0])
            self._loss.keep_quickly(value, known[1], rounds.round)
            if not -math.inf < value <= self._loss.level:
                self.on_loss(root, value)
            return True
        except TrainingFailure:
            raise
        except Exception as error:
            self._recorder.failed("unobserved backward", error)
            return True
        finally:
            if timing:
                self._schedule.leave()

    def before_step(self, optimizer: torch.optim.Optimizer) -> bool:
        """An optimizer is about to step: are its gradients finite, and its learning rates what they were?"""
        timing = self._schedule.timing
        if timing:
            self._schedule.enter()
        try:
            if self._alarms.gradients_bad(optimizer):
                self.on_gradient(optimizer)
            return self._update.optimizers.rates_unchanged(optimizer)
        except TrainingFailure:
            raise
        except Exception as error:
            self._recorder.failed("unobserved step", error)
            return True
        finally:
            if timing:
                self._schedule.leave()

    def stepped(self, optimizer: torch.optim.Optimizer, player: int) -> bool:
        """The last optimizer of a round has stepped: what is pending is written, and the next step's mode chosen."""
        schedule = self._schedule
        timing = schedule.timing
        if timing:
            schedule.enter()
        try:
            rounds, recorder = self._rounds, self._recorder
            if recorder.closed_step == rounds.round or not rounds.ends_quickly(player):
                return False
            self._update.stepped(optimizer)
            recorder.write(rounds)
            recorder.closed_step = rounds.round
            self._alarms.close_round()
            if not schedule.passes():
                mode = schedule.next_step(Mode.NONE)
                if mode is not Mode.NONE:
                    self.on_next(mode)
            return True
        except Exception as error:
            self._recorder.failed("unobserved end of a step", error)
            return True
        finally:
            if timing:
                schedule.leave()
