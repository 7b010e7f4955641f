"""What happens around the step of an optimizer: gradients and weights are measured, the round is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from neuraldbg.observe.state import guarded, player

if TYPE_CHECKING:
    from neuraldbg.observe.observer import Observer


class Steps:
    """One per block."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.state = observer.state
        self._loss = observer.loss
        self._update = observer.update
        self._alarms = observer.alarms

    def before(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step, and the short way (see ``Unobserved``) is not taken."""
        state = self.state
        if not state.listening:
            return
        if state.rounds.fresh and state.rounds.steps_again(player(optimizer)):
            self._another_round()
        self.goes_on(optimizer, not state.sampling and bool(self._gradients_bad(optimizer)))

    def goes_on(self, optimizer: torch.optim.Optimizer, bad: bool) -> None:
        """What is left to do before the step, once it is known whether a gradient is ``bad``."""
        if bad:
            self._bad_gradient(optimizer)
        self._before(optimizer)
        if self._alarms.due is not None:
            self._alarms.raise_if_due(self.state.rounds.step)
            self._leave_out(optimizer)

    @guarded
    def _gradients_bad(self, optimizer: torch.optim.Optimizer) -> bool:
        return self._alarms.gradients_bad(optimizer)

    @guarded
    def _another_round(self) -> None:
        """The backward before this step came from another line than those before, and belongs to a new round."""
        if self.state.recorder.closed_step != self.state.rounds.step:
            self._observer.close_round()
        self.state.rounds.begins_before()

    @guarded
    def _before(self, optimizer: torch.optim.Optimizer) -> None:
        step, sampling = self.state.rounds.step, self.state.sampling
        self._update.optimizers.settings(optimizer, step, closely=sampling)
        if sampling and self._update.before_step(optimizer, self._loss.scale_at(optimizer)):
            self._bad_gradient(optimizer)

    @guarded
    def _bad_gradient(self, optimizer: torch.optim.Optimizer) -> None:
        self.state.schedule.alarm()
        self.state.apart(self._alarms.gradient, optimizer, self.state.rounds.step, self._loss.hazards())

    @guarded
    def _leave_out(self, optimizer: torch.optim.Optimizer) -> None:
        self._alarms.before_step(optimizer, self.state.rounds.step)

    def after(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer has stepped, and the short way is not taken."""
        self._alarms.after_step()
        self._after(optimizer)

    @guarded
    def _after(self, optimizer: torch.optim.Optimizer) -> None:
        if self.state.sampling:
            self._update.after_step(optimizer)
        self._stepped(optimizer, skipped=False)

    def _stepped(self, optimizer: torch.optim.Optimizer, skipped: bool) -> None:
        rounds, recorder = self.state.rounds, self.state.recorder
        which = player(optimizer)
        rounds.optimizer_stepped(which, skipped)
        self._update.stepped(optimizer)
        if rounds.optimizer_steps == 1:
            recorder.release(rounds)
        if self.state.sampling:
            self._update.optimizers.membership(rounds.step)
        ends = rounds.ends_round(which)
        if ends or recorder.closed_step == rounds.step:
            # Now, not when the next round begins: by then its forward has been measured too.
            recorder.write(rounds)
        if ends:
            self._observer.close_round()

    # loss scaler -------------------------------------------------------------------------------------------------

    @guarded
    def scales(self, scaler: Any) -> None:
        """A loss scaler has scaled a loss."""
        self._loss.scaled_by(scaler, self.state.rounds.step)

    @guarded
    def about_to_unscale(self, optimizer: torch.optim.Optimizer) -> None:
        """The user's call of ``unscale_`` begins: what was clipped before it was clipped under the scale."""
        if self.state.sampling:
            self._update.before_unscale(optimizer, self._loss.scale_at(optimizer))

    @guarded
    def unscaled(self, scaler: Any, optimizer: torch.optim.Optimizer) -> None:
        """A loss scaler has unscaled the gradients of an optimizer, by the user's call."""
        self._loss.unscaled(optimizer)

    @guarded
    def before_scaler(self, scaler: Any, optimizer: torch.optim.Optimizer) -> None:
        """A loss scaler is about to let an optimizer step, or not."""
        if self.state.rounds.steps_again(player(optimizer)):
            self._another_round()
        self._loss.unscales_in_step(optimizer)
        if self.state.sampling and not self._loss.is_unscaled(optimizer):
            self._update.before_unscale(optimizer, self._loss.scale_at(optimizer))

    @guarded
    def skipped(self, optimizer: torch.optim.Optimizer) -> None:
        """A loss scaler has left a step out."""
        place = self._update.optimizers.place(optimizer)
        self.state.recorder.observe("optimizer.skipped", self.state.rounds.step, place, 1.0)
        self._stepped(optimizer, skipped=True)
