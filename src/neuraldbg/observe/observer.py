"""Everything that watches one block: its parts, how they come into torch and out again, and which steps are observed.

What torch does arrives at ``backwards``, ``steps``, and the callbacks of forwards here; ``unobserved`` is the short way
of the first two. Each callback is guarded: it never raises into the loop.
"""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch import nn

from neuraldbg.observe import source
from neuraldbg.observe.alarms import Alarms, Policy
from neuraldbg.observe.backwards import Backwards
from neuraldbg.observe.compiling import Compiling
from neuraldbg.observe.forward import ForwardObserver
from neuraldbg.observe.loss import LossObserver
from neuraldbg.observe.patches import Patches
from neuraldbg.observe.recorder import Recorder
from neuraldbg.observe.schedule import Mode, Schedule
from neuraldbg.observe.state import State, guarded
from neuraldbg.observe.steps import Steps
from neuraldbg.observe.unobserved import Unobserved
from neuraldbg.observe.update import UpdateObserver
from neuraldbg.observe.watched import Watched


class Observer:
    """Listens to one training loop."""

    def __init__(
        self, recorder: Recorder, schedule: Schedule, watched: Watched, discover: bool, policy: Policy = "record"
    ) -> None:
        self.state = State(recorder, schedule)
        self.recorder = recorder
        self.schedule = schedule
        self.watched = watched
        self.rounds = self.state.rounds
        self.patches = Patches(self)
        self.compiling = Compiling(self)
        self.forward = ForwardObserver(recorder, watched, discover)
        self.loss = LossObserver(recorder, watched, self.forward)
        self.update = UpdateObserver(recorder, watched)
        self.optimizers = self.update.optimizers
        self.alarms = Alarms(recorder, watched, self.forward, policy)
        self.unobserved = Unobserved(self)
        self.backwards = Backwards(self)
        self.steps = Steps(self)

    @property
    def listening(self) -> bool:
        """Whether callbacks count: the block is open, and this is the thread that opened it."""
        return self.state.listening

    # the block ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.state.active = True
        self.state.thread = threading.get_ident()
        self._install()
        self.sample(Mode.FULL)

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
        self.sample(self.state.mode)

    def pause(self) -> None:
        """Take everything out of torch for a while; ``resume`` puts it back. Between steps only."""
        self.state.active = False
        self.patches.remove()
        self.alarms.keeper.close()

    def resume(self) -> None:
        self.state.active = True
        self._install()
        self.sample(self.state.mode)

    def stop(self) -> None:
        self.state.active = False
        self.patches.remove()
        self.alarms.keeper.close()
        try:
            self.forward.release()
            self.loss.alone.settle(self.rounds)
            self.recorder.finish(self.rounds)
            self.loss.finish(self.rounds.step)
            self.recorder.writer.set_meta("sampling", self.schedule.report)
        except Exception as error:
            self.recorder.failed("stop", error)

    def note_progress(self) -> None:
        """Everything measured so far goes to the writer, so that a run can be explained while it runs."""
        self.loss.alone.settle(self.rounds)
        self.recorder.write(self.rounds)
        self.recorder.note_progress(self.rounds)

    # which steps -------------------------------------------------------------------------------------------------

    def close_round(self) -> None:
        """What was measured goes to the writer, and the next step's observing is decided. Safe to call twice."""
        step = self.rounds.step
        if self.recorder.closed_step == step:
            return
        self.recorder.write(self.rounds)
        self.recorder.closed_step = step
        self.alarms.close_round()
        state = self.state
        if state.sampling:
            self.forward.release()
            self.alarms.keeper.watch(self._roots_to_keep())
            if state.mode is Mode.FULL:
                self.compiling.note(step)
        mode = self.schedule.next_step(state.mode)
        if mode is not state.mode or state.sampling:
            self.sample(mode)

    def sample(self, mode: Mode) -> None:
        """Observe the next step in this way."""
        self.state.mode = mode
        self.state.sampling = mode is not Mode.NONE
        if mode is Mode.FULL and not self.compiling.whole:
            self.patches.attach_module_hooks()
        else:
            self.patches.detach_module_hooks()

    # forward -----------------------------------------------------------------------------------------------------

    def on_forward_begins(self, module: nn.Module, inputs: Any) -> None:
        if not self.state.in_backward and not torch.compiler.is_compiling():
            self._forward_begins(module, inputs)

    def on_forward_ends(self, module: nn.Module, inputs: Any, keywords: Any, output: Any) -> None:
        # Inside a backward the forwards are activation checkpointing's second ones.
        if not self.state.in_backward and not torch.compiler.is_compiling():
            self._forward_ends(module, inputs, keywords, output)

    @guarded
    def _forward_begins(self, module: nn.Module, inputs: Any) -> None:
        self.forward.begins(module, inputs, self.rounds.forward_step)

    @guarded
    def _forward_ends(self, module: nn.Module, inputs: Any, keywords: Any, output: Any) -> None:
        self.forward.ends(module, inputs, keywords, output, self.rounds.forward_step, self.schedule)

    @guarded
    def on_dropout(self, probability: float) -> None:
        """A dropout in train mode, of a module or functional: strong functional ones are noted once per place."""
        if self.state.sampling:
            self.forward.dropout(probability, self.rounds.step)

    @guarded
    def on_dropout_in_evaluation(self, probability: float) -> None:
        """A dropout drops without gradients: of interest where the model is in eval mode."""
        self.forward.dropout_in_evaluation(probability, self.rounds.step)

    # losses without a backward -----------------------------------------------------------------------------------

    @guarded
    def on_evaluation_loss(self, name: str, result: Any) -> None:
        frame = source.user_frame(2)
        self.loss.evaluation(name, result, frame, self.rounds.step)

    @guarded
    def record_loss(self, loss: Any) -> None:
        """A loss that the user hands over: kept unless a backward has shown it already."""
        frame = source.user_frame(2)
        self.loss.recorded(loss, frame, self.rounds)
