"""Lightning: ``Trainer(callbacks=[NeuralDbgCallback()])``; of the package ``lightning`` or ``pytorch_lightning``."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from neuraldbg.integrations._watching import Watching

if TYPE_CHECKING:
    from lightning.pytorch import Callback, LightningModule, Trainer
else:
    Callback = import_module("lightning.pytorch" if find_spec("lightning") else "pytorch_lightning").Callback


class NeuralDbgCallback(Callback):  # type: ignore[misc]
    """Watches from the first training step to the end of ``Trainer.fit()``, validation in between included.

    An exception, and an interruption, leave the block as the end does.

    Args:
        report: whether to print the verdict on standard error when training ends.
        settings: keyword arguments of NeuralDbg.
    """

    def __init__(self, report: bool = True, **settings: Any) -> None:
        super().__init__()
        self.watching = Watching(report, **settings)

    @property
    def debugger(self) -> Any:
        """The NeuralDbg of the last training; None before it."""
        return self.watching.debugger

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Enter the block; a training that is resumed is noted with the step that it goes on from."""
        resumed = {"run__resumed": {"step": trainer.global_step}} if trainer.global_step else {}
        self.watching.begin(pl_module, **resumed)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Leave the block and print the verdict."""
        self.watching.end()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Leave the block, with the exception in the trace."""
        self.watching.end(exception)
