"""What all callbacks share: whether they count, how this step is observed, and what a failure of ours becomes."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import torch

from neuraldbg.errors import TrainingFailure
from neuraldbg.observe.recorder import Recorder
from neuraldbg.observe.rounds import Rounds
from neuraldbg.observe.schedule import Mode, Schedule
from neuraldbg.observe.tracing import tracing

Method = TypeVar("Method", bound=Callable[..., Any])


class State:
    """One per block."""

    def __init__(self, recorder: Recorder, schedule: Schedule) -> None:
        self.recorder = recorder
        self.schedule = schedule
        self.rounds = Rounds()
        self.mode = Mode.FULL
        #: Whether this step is observed: by its mode, or because its loss raised an alarm.
        self.sampling = True
        self.in_backward = False
        self.active = False
        self.thread = threading.get_ident()

    @property
    def listening(self) -> bool:
        """Whether callbacks count: the block is open, this is the thread that opened it, and no tracer is at work."""
        return self.active and threading.get_ident() == self.thread and not tracing()

    def apart(self, look: Callable[..., None], *arguments: Any) -> None:
        """The closest look that there is: it runs code of the user's model once more, which is none of his steps."""
        self.active = False
        try:
            look(*arguments)
        finally:
            self.active = True


class _HasState(Protocol):
    state: State


def guarded(method: Method) -> Method:
    """Count the time as ours, and turn an error of ours into a note in the trace instead of the user's problem."""

    @functools.wraps(method)
    def call(self: _HasState, *args: Any, **kwargs: Any) -> Any:
        state = self.state
        if not state.listening:
            return None
        # A step that is not observed is not timed either: reading the clock would be most of what it costs.
        timed = state.sampling or state.schedule.timing
        if timed:
            state.schedule.enter()
        try:
            return method(self, *args, **kwargs)
        except TrainingFailure:  # asked for, with on_non_finite="raise"
            raise
        except Exception as error:
            state.recorder.failed(method.__name__, error)
            return None
        finally:
            if timed:
                state.schedule.leave()

    return call  # type: ignore[return-value]


def player(optimizer: torch.optim.Optimizer) -> int:
    """What makes an optimizer the same one for counting rounds: its first parameter, whichever object steps it."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            return id(parameter)
    return id(optimizer)
