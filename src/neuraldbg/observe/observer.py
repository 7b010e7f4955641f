"""Turns what torch does inside the block into observations. Each callback is guarded: it never raises into the loop."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from neuraldbg.errors import TrainingFailure
from neuraldbg.observe import source
from neuraldbg.observe.alarms import Alarms, Policy
from neuraldbg.observe.compiling import Compiling
from neuraldbg.observe.forward import ForwardObserver
from neuraldbg.observe.loss import LossObserver
from neuraldbg.observe.patches import Patches
from neuraldbg.observe.recorder import Recorder
from neuraldbg.observe.rounds import Rounds
from neuraldbg.observe.schedule import Mode, Schedule
from neuraldbg.observe.tracing import tracing
from neuraldbg.observe.update import UpdateObserver
from neuraldbg.observe.watched import Watched

Method = TypeVar("Method", bound=Callable[..., Any])


def guarded(method: Method) -> Method:
    """Count the time as ours, and turn an error of ours into a note in the trace instead of the user's problem."""

    @functools.wraps(method)
    def call(self: Observer, *args: Any, **kwargs: Any) -> Any:
        if not self.listening:
            return None
        # A step that is not observed is not timed either: reading the clock would be most of what it costs.
        timed = self.sampling or self.schedule.timing
        if timed:
            self.schedule.enter()
        try:
            return method(self, *args, **kwargs)
        except TrainingFailure:  # asked for, with on_non_finite="raise"
            raise
        except Exception as error:
            self.recorder.failed(method.__name__, error)
            return None
        finally:
            if timed:
                self.schedule.leave()

    return call  # type: ignore[return-value]


def _player(optimizer: torch.optim.Optimizer) -> int:
    """What makes an optimizer the same one for counting rounds: its first parameter, whichever object steps it."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            return id(parameter)
    return id(optimizer)


class Observer:
    """Listens to one training loop."""

    def __init__(
        self, recorder: Recorder, schedule: Schedule, watched: Watched, discover: bool, policy: Policy = "record"
    ) -> None:
        self.recorder = recorder
        self.schedule = schedule
        self.watched = watched
        self.rounds = Rounds()
        self.patches = Patches(self)
        self.compiling = Compiling(self)
        self.forward = ForwardObserver(recorder, watched, discover)
        self.loss = LossObserver(recorder, watched, self.forward)
        self.update = UpdateObserver(recorder, watched)
        self.alarms = Alarms(recorder, watched, self.forward, policy)
        self.in_backward = False
        self.mode = Mode.FULL
        #: Whether this step is observed: by its mode, or because its loss raised an alarm.
        self.sampling = True
        self._active = False
        self._thread = threading.get_ident()
        #: Where backwards were called: (code, instruction, instruction of the caller) → (place, line of the caller).
        self._turns: dict[tuple[int, int, int], tuple[Hashable, int]] = {}

    @property
    def listening(self) -> bool:
        """Whether callbacks count: the block is open, this is the thread that opened it, and no tracer is at work."""
        return self._active and threading.get_ident() == self._thread and not tracing()

    def start(self) -> None:
        self._active = True
        self._thread = threading.get_ident()
        self._install()
        self._sample(Mode.FULL)

    def _install(self) -> None:
        self.patches.install()
        self.alarms.keeper.open(self._roots_to_keep())

    def _roots_to_keep(self) -> list[tuple[str, nn.Module]]:
        return [] if self.compiling.inlined else list(self.watched.roots())

    def reinstall(self) -> None:
        """Something was compiled: a compiler may meet our callbacks from now on."""
        self.patches.remove()
        self.alarms.keeper.close()
        self._install()
        self._sample(self.mode)

    def pause(self) -> None:
        """Take everything out of torch for a while; ``resume`` puts it back. Between steps only."""
        self._active = False
        self.patches.remove()
        self.alarms.keeper.close()

    def resume(self) -> None:
        self._active = True
        self._install()
        self._sample(self.mode)

    def stop(self) -> None:
        self._active = False
        self.patches.remove()
        self.alarms.keeper.close()
        try:
            self.forward.release()
            self.recorder.finish(self.rounds)
            self.loss.finish(self.rounds.step)
            self.recorder.writer.set_meta("sampling", self.schedule.report)
        except Exception as error:
            self.recorder.failed("stop", error)

    def note_progress(self) -> None:
        """Everything measured so far goes to the writer, so that a run can be explained while it runs."""
        self.recorder.write(self.rounds)
        self.recorder.note_progress(self.rounds)

    # forward -----------------------------------------------------------------------------------------------------

    def on_forward_begins(self, module: nn.Module, inputs: Any) -> None:
        if not self.in_backward and not torch.compiler.is_compiling():
            self._forward_begins(module, inputs)

    def on_forward_ends(self, module: nn.Module, inputs: Any, keywords: Any, output: Any) -> None:
        # Inside a backward the forwards are activation checkpointing's second ones.
        if not self.in_backward and not torch.compiler.is_compiling():
            self._forward_ends(module, inputs, keywords, output)

    @guarded
    def _forward_begins(self, module: nn.Module, inputs: Any) -> None:
        self.forward.begins(module, inputs, self.rounds.forward_step)

    @guarded
    def _forward_ends(self, module: nn.Module, inputs: Any, keywords: Any, output: Any) -> None:
        self.forward.ends(module, inputs, keywords, output, self.rounds.forward_step, self.schedule)

    # backward ----------------------------------------------------------------------------------------------------

    def on_backward_begins(self, tensors: Any) -> None:
        if self.sampling or not self._quickly(self._quick_backward, tensors):
            self._backward_begins(tensors)
        if self.alarms.due is not None:
            self.alarms.raise_if_due(self.rounds.step)

    def _quickly(self, method: Callable[[Any], bool], argument: Any) -> bool:
        """The short way of a step that is not observed; false where something is new and the long way is due."""
        timed = self.schedule.timing
        if timed:
            self.schedule.enter()
        try:
            return method(argument)
        except TrainingFailure:
            raise
        except Exception as error:
            self.recorder.failed(method.__name__, error)
            return True
        finally:
            if timed:
                self.schedule.leave()

    def _quick_backward(self, root: Any) -> bool:
        """A backward from a known line with a loss on the CPU: its value is kept, and nothing else is done."""
        frame = source.user_frame(5)
        if frame is None or frame.f_back is None:
            return False
        turn = self._turns.get((id(frame.f_code), frame.f_lasti, frame.f_back.f_lasti))
        rounds = self.rounds
        if turn is None or not isinstance(root, Tensor) or not self.loss.is_quick(root, turn[0]):
            return False
        if self.recorder.closed_step != rounds.round and rounds.begins_round(turn):
            return False
        rounds.backward(turn)
        value = self.loss.quick_value(root, turn[0], rounds.round)
        if not -math.inf < value <= self.loss.level:
            self._alarm(root, value)
        return True

    @guarded
    def _alarm(self, root: Tensor, value: float) -> None:
        bad = not math.isfinite(value)
        if bad or self.loss.is_spike(value):
            self._look(root, value, bad)

    @guarded
    def _backward_begins(self, tensors: Any) -> None:
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
        if frame is not None and caller is not None and len(self._turns) < 1000:
            self._turns[(id(frame.f_code), frame.f_lasti, caller.f_lasti)] = turn
        rounds = self.rounds
        if rounds.begins_round(turn):
            self._close_round()
        rounds.backward(turn)
        value = self.loss.value(root, place, frame, rounds.step)
        bad = value is not None and not math.isfinite(value)
        if self.sampling or bad or (value is not None and self.loss.is_spike(value)):
            self._look(tensors, value, bad)

    def _look(self, tensors: Any, value: float | None, bad: bool) -> None:
        """A backward of an observed step begins, or one whose loss raises an alarm."""
        roots = [tensors] if isinstance(tensors, Tensor) else tensors
        step = self.rounds.step
        spike = value is not None and not bad and self.loss.is_spike(value)
        # An alarm in a step that was not to be observed: its graph is still there, so that what its forward read, its
        # loss, its gradients and its update are seen all the same; only the module outputs are not.
        self.sampling = self.sampling or ((bad or spike) and self.schedule.affordable(serious=bad))
        if self.sampling:
            if self.mode is not Mode.FULL:
                self.forward.inputs_of_graph(roots, step)
            self.forward.close_step()
            self.update.gradients_left(self.loss.scale, self.rounds.backwards_in_round <= 1)
            self.loss.structure(roots, step, full=self.mode is Mode.FULL)
            self.alarms.choose_sentinel(roots[0])
            self.compiling.see_graph(roots[0])
        if bad and value is not None:
            self.schedule.alarm()
            self._trace_origin(self.alarms.loss, roots, step, value)
        elif spike:
            self.schedule.alarm(serious=False)

    def on_backward_ends(self) -> None:
        if self.sampling or self.rounds.optimizer_steps == 0:
            self._backward_ends()

    @guarded
    def _backward_ends(self) -> None:
        step = self.rounds.step
        if self.sampling:
            self.update.after_backward(step, self.loss.scale)
            self.forward.release()
        if self.rounds.optimizer_steps == 0:
            self.recorder.release_if_waiting(self.rounds)
            self.recorder.write(self.rounds)
            if self.rounds.by_backward:
                self._sample(self.schedule.next_step(self.mode))

    def _trace_origin(self, alarm: Callable[..., None], *arguments: Any) -> None:
        """The closest look that there is: it runs code of the user's model once more, which is none of his steps."""
        self._active = False
        try:
            alarm(*arguments)
        finally:
            self._active = True

    # update ------------------------------------------------------------------------------------------------------

    def on_optimizer_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if not self.listening:
            return
        if self.rounds.steps_again(_player(optimizer)):
            self._another_round()
        if self.sampling or not self._quickly(self._quick_optimizer_step, optimizer):
            self._optimizer_step(optimizer)
        if self.alarms.due is not None:
            self.alarms.raise_if_due(self.rounds.step)
            self._leave_out(optimizer)

    @guarded
    def _another_round(self) -> None:
        """The backward before this step came from another line than those before, and belongs to a new round."""
        if self.recorder.closed_step != self.rounds.step:
            self._close_round()
        self.rounds.begins_before()

    def _quick_optimizer_step(self, optimizer: torch.optim.Optimizer) -> bool:
        if self.alarms.gradients_bad(optimizer):
            self._bad_gradient(optimizer)
        return self.update.rates_unchanged(optimizer)

    @guarded
    def _optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        step = self.rounds.step
        self.update.settings(optimizer, step, closely=self.sampling)
        if self.sampling and self.update.before_step(optimizer, step, self.loss.scale_at(optimizer)):
            self._bad_gradient(optimizer)

    @guarded
    def _bad_gradient(self, optimizer: torch.optim.Optimizer) -> None:
        self.schedule.alarm()
        self._trace_origin(self.alarms.gradient, optimizer, self.rounds.step, self.loss.hazards())

    @guarded
    def _leave_out(self, optimizer: torch.optim.Optimizer) -> None:
        self.alarms.before_step(optimizer, self.rounds.step)

    def on_optimizer_stepped(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self.alarms.after_step()
        if self.listening and (self.sampling or not self._quickly(self._quick_optimizer_stepped, optimizer)):
            self._optimizer_stepped(optimizer)

    def _quick_optimizer_stepped(self, optimizer: torch.optim.Optimizer) -> bool:
        rounds = self.rounds
        player = _player(optimizer)
        if rounds.optimizer_steps == 0 or not rounds.ends_round(player) or self.recorder.closed_step == rounds.round:
            return False
        rounds.optimizer_stepped(player, False)
        self.update.stepped(optimizer)
        self._close_round()
        return True

    @guarded
    def _optimizer_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        if self.sampling:
            self.update.after_step(optimizer, self.rounds.step)
        self._stepped(optimizer, skipped=False)

    def _stepped(self, optimizer: torch.optim.Optimizer, skipped: bool) -> None:
        player = _player(optimizer)
        self.rounds.optimizer_stepped(player, skipped)
        self.update.stepped(optimizer)
        if self.rounds.optimizer_steps == 1:
            self.recorder.release(self.rounds)
        if self.sampling:
            self.update.membership(self.rounds.step)
        ends = self.rounds.ends_round(player)
        if ends or self.recorder.closed_step == self.rounds.step:
            # Now, not when the next round begins: by then its forward has been measured too.
            self.recorder.write(self.rounds)
        if ends:
            self._close_round()

    def _close_round(self) -> None:
        """What was measured goes to the writer, and the next step's observing is decided. Safe to call twice."""
        step = self.rounds.step
        if self.recorder.closed_step == step:
            return
        self.recorder.write(self.rounds)
        self.recorder.closed_step = step
        self.alarms.close_round()
        if self.sampling:
            self.forward.release()
            self.alarms.keeper.watch(self._roots_to_keep())
            if self.mode is Mode.FULL:
                self.compiling.note(step)
        mode = self.schedule.next_step(self.mode)
        if mode is not self.mode or self.sampling:
            self._sample(mode)

    def _sample(self, mode: Mode) -> None:
        self.mode = mode
        self.sampling = mode is not Mode.NONE
        if mode is Mode.FULL and not self.compiling.whole:
            self.patches.attach_module_hooks()
        else:
            self.patches.detach_module_hooks()

    # loss scaler -------------------------------------------------------------------------------------------------

    @guarded
    def on_scale(self, scaler: Any) -> None:
        self.loss.scaled_by(scaler, self.rounds.step)

    @guarded
    def on_unscale(self, scaler: Any, optimizer: torch.optim.Optimizer) -> None:
        self.loss.unscaled(optimizer)

    @guarded
    def on_scaler_step(self, scaler: Any, optimizer: torch.optim.Optimizer) -> None:
        if self.rounds.steps_again(_player(optimizer)):
            self._another_round()
        self.loss.unscales_in_step(optimizer)
        if self.sampling:
            self.update.before_unscale(optimizer, self.rounds.step, self.loss.scale_at(optimizer))

    @guarded
    def on_step_skipped(self, optimizer: torch.optim.Optimizer) -> None:
        self.recorder.observe("optimizer.skipped", self.rounds.step, self.update.place(optimizer), 1.0)
        self._stepped(optimizer, skipped=True)

    # evaluation --------------------------------------------------------------------------------------------------

    @guarded
    def on_evaluation_loss(self, name: str, result: Any) -> None:
        frame = source.user_frame(2)
        self.loss.evaluation(name, result, frame, self.rounds.step)

    @guarded
    def on_dropout(self, probability: float) -> None:
        """A dropout in train mode, of a module or functional: strong functional ones are noted once per place."""
        if self.sampling:
            self.forward.dropout(probability, self.rounds.step)

    @guarded
    def record_loss(self, loss: Any) -> None:
        """A loss that the user hands over: kept unless a backward has shown it already."""
        frame = source.user_frame(2)
        self.loss.recorded(loss, frame, self.rounds.step)
