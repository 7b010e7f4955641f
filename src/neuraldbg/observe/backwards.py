"""What happens as a backward begins and ends: the step is counted, its loss kept, its graph read while it is there."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from torch import Tensor

from neuraldbg.observe import source
from neuraldbg.observe.schedule import Mode
from neuraldbg.observe.state import guarded

if TYPE_CHECKING:
    from neuraldbg.observe.observer import Observer


class Backwards:
    """One per block."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.state = observer.state
        self._loss = observer.loss
        self._alarms = observer.alarms
        self._unobserved = observer.unobserved

    def begins(self, tensors: Any) -> None:
        """A backward begins, and the short way (see ``Unobserved``) was not taken."""
        self._begins(tensors)
        if self._alarms.due is not None:
            self._alarms.raise_if_due(self.state.rounds.step)

    @guarded
    def _begins(self, tensors: Any) -> None:
        if isinstance(tensors, Tensor):
            root = tensors
        else:
            tensors = [tensor for tensor in tensors if isinstance(tensor, Tensor)]
            if not tensors:
                return
            root = tensors[0]
        frame = source.user_frame(2)
        place: Hashable = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else "backward"
        # Two players that share a helper function for their step differ in the line that calls it.
        caller = frame.f_back if frame is not None else None
        turn = (place, caller.f_lineno if caller is not None else 0)
        if frame is not None:
            self._unobserved.learn(frame, turn, place)
        rounds = self.state.rounds
        if rounds.begins_round(turn):
            self._observer.close_round()
        rounds.backward(turn)
        value = self._loss.value(root, place, frame, rounds.step)
        bad = value is not None and not math.isfinite(value)
        if self.state.sampling or bad or (value is not None and self._loss.is_spike(value)):
            self._look(tensors, value, bad)

    def looks_at(self, root: Tensor, value: float, place: Hashable) -> None:
        """A backward that took the short way, of a loss that may be one to look at; called now and then in any case."""
        self._looks_at(root, value, place)
        if self._alarms.due is not None:
            self._alarms.raise_if_due(self.state.rounds.step)

    @guarded
    def _looks_at(self, root: Tensor, value: float, place: Hashable) -> None:
        self._loss.look_up_level()
        bad = not math.isfinite(value)
        if bad or value > self._loss.level:
            self._loss.comes_from(place)
            self._look(root, value, bad)

    def _look(self, tensors: Any, value: float | None, bad: bool) -> None:
        """A backward of an observed step begins, or one whose loss raises an alarm."""
        observer, state = self._observer, self.state
        roots = [tensors] if isinstance(tensors, Tensor) else tensors
        step = state.rounds.step
        spike = value is not None and not bad and self._loss.is_spike(value)
        # An alarm in a step that was not to be observed: its graph is still there, so that what its forward read, its
        # loss, its gradients and its update are seen all the same; only the module outputs are not.
        state.sampling = state.sampling or ((bad or spike) and state.schedule.look(serious=bad))
        if state.sampling:
            if state.mode is not Mode.FULL:
                self._alarms.inputs_of_step(roots, step)
            observer.forward.close_step()
            observer.update.gradients_left(self._loss.scale, state.rounds.backwards_in_round <= 1)
            self._loss.structure(roots, step, full=state.mode is Mode.FULL)
            self._alarms.choose_sentinel(roots[0])
            observer.compiling.see_graph(roots[0])
        if bad and value is not None:
            state.schedule.alarm()
            state.apart(self._alarms.loss, roots, step, value)
        elif spike:
            state.schedule.alarm(serious=False)

    @guarded
    def ends(self) -> None:
        """The backward of a step that is observed is over, or one before any optimizer has stepped."""
        observer, state = self._observer, self.state
        rounds, recorder = state.rounds, state.recorder
        if state.sampling:
            observer.update.after_backward(rounds.step, self._loss.scale)
            observer.forward.release()
        if rounds.optimizer_steps == 0:
            recorder.release_if_waiting(rounds)
            recorder.write(rounds)
            if rounds.by_backward:
                observer.sample(state.schedule.next_step(state.mode))
