"""Hugging Face Trainer: ``Trainer(..., callbacks=[NeuralDbgCallback()])``."""

from __future__ import annotations

from typing import Any

from torch import nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from neuraldbg.integrations._watching import Watching


class NeuralDbgCallback(TrainerCallback):  # type: ignore[misc]
    """Watches from the start to the end of ``Trainer.train()``, evaluations included.

    The Trainer tells its callbacks nothing of an exception: then the block is left, and the verdict printed, when the
    process ends or trains again. ``with NeuralDbg(): trainer.train()`` leaves it at once.

    Args:
        report: whether to print the verdict on standard error when training ends.
        settings: keyword arguments of NeuralDbg.
    """

    def __init__(self, report: bool = True, **settings: Any) -> None:
        self.watching = Watching(report, **settings)

    @property
    def debugger(self) -> Any:
        """The NeuralDbg of the last training; None before it."""
        return self.watching.debugger

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: nn.Module | None = None,
        **kwargs: Any,
    ) -> None:
        """Enter the block; a training that is resumed is noted with the step that it goes on from."""
        resumed = {"run__resumed": {"step": state.global_step}} if state.global_step else {}
        self.watching.begin(model, **resumed)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Leave the block and print the verdict."""
        self.watching.end()
