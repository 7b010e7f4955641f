"""The short way through a step that is not observed. Most steps of a long run are such, and this is what they cost.

Each of the three functions does all that has to be done in the usual case: a backward from a known line with a loss on
the CPU, an optimizer with the learning rates that it had, a round that ends as the one before. Where anything is
unusual they do nothing and the long way is taken.

They are long and call next to nothing, and work on the fields of other objects, on purpose: after the kernels of a step
the processor's caches hold none of this, and each function called, each object visited takes several times as long as
in a tight loop. A call that costs 0.2 µs there costs one or two here.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from neuraldbg.errors import TrainingFailure
from neuraldbg.observe import source
from neuraldbg.observe.schedule import Mode

if TYPE_CHECKING:
    from neuraldbg.observe.observer import Observer

#: Lines that call backward which are remembered.
_LINES = 1000
#: Of so many backwards one looks up the median of the losses anew.
_LEVEL_EVERY = 32

Hook = Callable[[torch.optim.Optimizer, Any, Any], None]


@dataclass(slots=True)
class _Line:
    """A line that calls backward, as its frame shows it."""

    code: CodeType | None
    instruction: int
    #: Instruction of the caller of the line's function, -1 without one.
    caller: int
    turn: Hashable
    place: Hashable
    #: The place of its losses, as the writer takes it.
    streams: tuple[int, ...] = ()
    #: Frames from the wrapped backward up to the line.
    depth: int = 2
    #: Whether the caller must be looked at: the line's function is one that several players share.
    shared: bool = False


class Unobserved:
    """One per block."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        #: (code, instruction, instruction of the caller) → line.
        self._known: dict[tuple[int, int, int], _Line] = {}

    # lines -------------------------------------------------------------------------------------------------------

    def learn(self, frame: FrameType, turn: Hashable, place: Hashable) -> None:
        """A backward was called from this frame of the user's."""
        caller = frame.f_back
        above = -1 if caller is None else caller.f_lasti
        key = (id(frame.f_code), frame.f_lasti, above)
        known = self._known.get(key)
        if len(self._known) < _LINES and (known is None or known.code is not frame.f_code):
            line = self._known[key] = _Line(frame.f_code, frame.f_lasti, above, turn, place)
            for other in self._known.values():
                if other.code is line.code and other.instruction == line.instruction and other.caller != above:
                    other.shared = line.shared = True

    def another_player(self) -> None:
        """An optimizer has come that did not step in the round before: it may share its line with another one."""
        for line in self._known.values():
            line.shared = True

    def _line(self, frame: FrameType | None) -> _Line | None:
        """The line from which a backward is called, where it is known and has had a loss."""
        libraries, depth = source.libraries, 1
        while frame is not None and libraries.get(frame.f_code.co_filename) is True:
            frame, depth = frame.f_back, depth + 1
        if frame is None:
            return None
        caller = frame.f_back
        above = -1 if caller is None else caller.f_lasti
        line = self._known.get((id(frame.f_code), frame.f_lasti, above))
        stream = self._observer.loss.streams.get(line.place) if line is not None else None
        if line is None or line.code is not frame.f_code or stream is None:
            return None
        line.streams, line.depth = (stream,), depth
        return line

    # the three functions -----------------------------------------------------------------------------------------

    def wrap_backward(self, original: Any) -> Any:
        """``torch.autograd.backward`` with the value of the loss kept, and whatever else the step at hand asks for."""
        observer = self._observer
        state, loss, schedule, backwards = observer.state, observer.loss, observer.schedule, observer.backwards
        rounds, recorder, writer = state.rounds, state.recorder, state.recorder.writer
        queue, few, observe = writer.queue, writer.FEW, writer.observe
        get_frame, get_thread, find, infinity = sys._getframe, threading.get_ident, self._line, math.inf
        last = _Line(None, 0, 0, None, None)

        # The signature of the original: handing on a list and a dictionary of arguments costs a microsecond.
        def backward(
            tensors: Any,
            grad_tensors: Any = None,
            retain_graph: bool | None = None,
            create_graph: bool = False,
            grad_variables: Any = None,
            inputs: Any = None,
        ) -> None:
            nonlocal last
            if state.in_backward or not state.active:
                return original(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
            done = False
            # Whether steps are counted by optimizer is open until one has stepped.
            if not state.sampling and rounds.optimizer_steps and type(tensors) is Tensor:
                timing = schedule.timing
                if timing:
                    schedule.enter()
                try:
                    line: _Line | None = last
                    try:
                        frame = get_frame(last.depth)
                        if frame.f_lasti != last.instruction or frame.f_code is not last.code or last.shared:
                            line = find(get_frame(1))
                    except ValueError:  # so deep is not the stack this time
                        line = find(get_frame(1))
                    if line is not None and tensors.is_cpu and get_thread() == state.thread:
                        last, turn, number = line, line.turn, rounds.round
                        begins = turn in rounds.places and bool(rounds.stepped)
                        if not begins or recorder.closed_step == number:
                            value = tensors.item() / loss.scale
                            done = True
                            # As Rounds.backward.
                            if begins:
                                rounds.round = number = number + 1
                                rounds.backwards_in_round = 1
                                if len(rounds.places) > 1:
                                    rounds.places = {turn}
                                rounds.last_round, rounds.stepped = rounds.stepped, []
                            else:
                                rounds.places.add(turn)
                                rounds.backwards_in_round += 1
                            rounds.latest = turn
                            rounds.backwards = count = rounds.backwards + 1
                            stored = infinity
                            if -infinity < value < infinity:
                                stored = value
                                loss.recent.append(value)
                            if writer.recording and len(queue) < few:  # as TraceWriter.observe
                                queue.append(("loss.value", number, line.streams, (stored,)))
                            else:
                                observe("loss.value", number, line.streams, (stored,))
                            if not value <= loss.level or value == -infinity or count % _LEVEL_EVERY == 0:
                                backwards.looks_at(tensors, value, line.place)
                except TrainingFailure:
                    raise
                except Exception as error:
                    recorder.failed("unobserved backward", error)
                finally:
                    if timing:
                        schedule.leave()
            if not done:
                backwards.begins(tensors)
            state.in_backward = True
            try:
                return original(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
            finally:
                state.in_backward = False
                if state.sampling or rounds.optimizer_steps == 0:
                    backwards.ends()

        return backward

    def step_hooks(self) -> tuple[Hook, Hook]:
        """What torch calls before and after the step of any optimizer."""
        observer = self._observer
        state, schedule, alarms, steps = observer.state, observer.schedule, observer.alarms, observer.steps
        rounds, recorder, pending = state.rounds, state.recorder, state.recorder.pending
        rates_now, note_rates = observer.optimizers.rates_now, observer.optimizers.note_rates
        update, kept = observer.update, alarms.keeper.kept
        get_thread, infinity = threading.get_ident, math.inf
        another_player = self.another_player
        one_is_read = alarms.policy == "record"
        #: Player (see ``state.player``) whose step has begun on the short way; 0 for none.
        begun = 0

        def before(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
            nonlocal begun
            begun = 0
            if (
                not state.active
                or state.sampling
                or not rounds.optimizer_steps
                or alarms.due is not None
                or get_thread() != state.thread
            ):
                steps.before(optimizer)
                return
            timing = schedule.timing
            if timing:
                schedule.enter()
            try:
                groups = optimizer.param_groups
                group = groups[0]
                now = id(group["params"][0])
                rates = rates_now.get(id(optimizer))
                # An optimizer that was never seen may be one of a tracer, whose tensors hold no numbers.
                again = rates is None or now in rounds.stepped
                bad = False
                if rounds.last_round and now not in rounds.last_round:
                    another_player()
                if rates is not None and not again:
                    sentinel = alarms.sentinel
                    gradient = sentinel.grad if sentinel is not None else None
                    if not one_is_read:
                        bad = alarms.gradients_bad(optimizer)
                    elif gradient is not None:
                        if type(gradient) is not Tensor or not gradient.is_cpu:
                            bad = alarms.gradients_bad(optimizer)
                        else:
                            bad = not -infinity < gradient.sum().item() < infinity
                    if not bad:
                        if len(groups) != 1 or group.get("lr") is not rates[0]:
                            note_rates(optimizer, rounds.round)
                        begun = now
            except Exception:  # a first group without parameters, say: the long way knows
                again, bad = True, False
            finally:
                if timing:
                    schedule.leave()
            if again:
                steps.before(optimizer)
            elif bad:
                steps.goes_on(optimizer, True)

        def after(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
            nonlocal begun
            now, begun = begun, 0
            last = rounds.last_round
            if (
                not now
                or state.sampling
                or recorder.closed_step == rounds.round
                or (last and last[-1] != now)
                or now in rounds.stepped
                or get_thread() != state.thread
            ):
                steps.after(optimizer)
                return
            timing = schedule.timing
            if timing:
                schedule.enter()
            try:
                # As Steps.after of an optimizer that ends the round, Rounds.optimizer_stepped, Observer.close_round.
                rounds.optimizer_steps += 1
                rounds.stepped.append(now)
                if update.left:
                    update.stepped(optimizer)
                if pending.waiting:
                    recorder.write(rounds)
                recorder.closed_step = rounds.round
                kept.clear()
                if schedule.skip > 0:
                    schedule.skip -= 1
                else:
                    mode = schedule.next_step(Mode.NONE)
                    if mode is not Mode.NONE:
                        observer.sample(mode)
            except Exception as error:
                recorder.failed("unobserved end of a step", error)
            finally:
                if timing:
                    schedule.leave()

        return before, after
