"""What the callbacks share: a block that is entered and left by events, and a verdict at its end."""

from __future__ import annotations

import atexit
import sys
from typing import Any

from torch import nn

from neuraldbg.errors import NestedSessionError, NeuralDbgError
from neuraldbg.records import Diagnosis
from neuraldbg.session import NeuralDbg


class Watching:
    """A NeuralDbg that a framework's events enter and leave.

    Never raises into the framework's loop, but for ``on_non_finite="raise"``, which asks for that.

    Args:
        report: whether to print the verdict on standard error at the end.
        settings: keyword arguments of NeuralDbg.
    """

    def __init__(self, report: bool = True, **settings: Any) -> None:
        NeuralDbg(**settings)  # a wrong argument is said where it is written, not when training begins
        self._report = report
        self._settings = settings
        self._open = False
        #: The last block, also after it was left: ``debugger.explain_failure()``, ``debugger.path``.
        self.debugger: NeuralDbg | None = None

    def begin(self, model: nn.Module | None, **facts: Any) -> None:
        """Enter the block; inside of another one (``neuraldbg run``, a ``with`` of the user) do nothing.

        Args:
            model: what is trained, without wrappers.
            facts: names (with ``__`` for the dot) and contents of facts to keep in the trace.
        """
        self.end()
        debugger = NeuralDbg(model, **self._settings)
        try:
            debugger.__enter__()
        except NestedSessionError:
            return
        except NeuralDbgError as error:
            sys.stderr.write(f"neuraldbg: not watching: {error}\n")
            return
        self.debugger, self._open = debugger, True
        atexit.register(self.end)
        observer = debugger._observer
        if observer is not None:
            for name, data in facts.items():
                observer.recorder.fact(name.replace("__", "."), 0, None, data)

    def end(self, error: BaseException | None = None) -> None:
        """Leave the block and print the verdict; safe to call twice."""
        if not self._open or self.debugger is None:
            return
        self._open = False
        atexit.unregister(self.end)
        self.debugger.__exit__(type(error) if error is not None else None, error, None)
        if self._report:
            from neuraldbg.report import print_verdict

            try:
                print_verdict(self.debugger.diagnosis(), file=sys.stderr)
            except Exception as trouble:  # a verdict is no reason to lose a trained model
                sys.stderr.write(f"neuraldbg: no verdict ({type(trouble).__name__}: {trouble}); the trace is kept\n")

    @property
    def diagnosis(self) -> Diagnosis | None:
        """The diagnosis of the last block; None before there was one."""
        return self.debugger.diagnosis() if self.debugger is not None else None
