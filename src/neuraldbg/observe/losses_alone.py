"""Losses that are handed over before anything was trained: of a method without gradients, or of a first validation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from neuraldbg.observe.rounds import PATIENCE

if TYPE_CHECKING:
    from neuraldbg.observe.recorder import Recorder
    from neuraldbg.observe.rounds import Rounds


class LossesAlone:
    """Keeps them until it is known which of the two they are. One per session."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        #: (place in the user's code, value, whether gradients were off, whether it could be differentiated).
        self._waiting: list[tuple[str, float, bool, bool]] = []
        #: Losses so far, by place: each is a step of its own.
        self._counts: dict[str, int] = {}

    def keep(self, where: str, value: float, without_gradients: bool, differentiable: bool, rounds: Rounds) -> None:
        self._waiting.append((where, value, without_gradients, differentiable))
        if len(self._waiting) >= PATIENCE:
            self.settle(rounds)

    def settle(self, rounds: Rounds) -> None:
        """Write what waits: once something trains as what came before it, else as the loss that is followed."""
        waiting, self._waiting = self._waiting, []
        trains = rounds.seen_anything
        for where, value, without_gradients, differentiable in waiting:
            if trains and differentiable and rounds.backwards:
                continue  # its backward has shown it
            kind = "evaluation" if trains and without_gradients else "loss"
            place = self._recorder.place(kind, f"recorded at {where}", {"source": where, "recorded": True})
            step = 0
            if not trains:
                step = self._counts.get(where, 0)
                self._counts[where] = step + 1
            stored = math.inf if kind == "loss" and math.isnan(value) else value
            self._recorder.observe("evaluation.loss" if kind == "evaluation" else "loss.value", step, place, stored)
