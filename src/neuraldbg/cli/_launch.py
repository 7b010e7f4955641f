"""Runs a program under observation, and leaves no trace of that in how it ends."""

from __future__ import annotations

import os
import sys
import types
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuraldbg.cli._live import LiveView
from neuraldbg.cli._program import Program, without_our_frames
from neuraldbg.cli._say import complain, error_stream, say
from neuraldbg.cli._torch_arrival import TorchArrival
from neuraldbg.errors import UsageError

if TYPE_CHECKING:
    from neuraldbg.records import Diagnosis
    from neuraldbg.session import NeuralDbg


#: ``--fail-on``: the script ended well, and its training failed.
EXIT_TRAINING_FAILED = 3


class Watch:
    """Holds the NeuralDbg of a program: entered when torch arrives, left when the program ends."""

    def __init__(self, script: str, live: bool = False) -> None:
        self.debugger: NeuralDbg | None = None
        self._view: LiveView | None = LiveView() if live else None
        self._script = script
        self._process = os.getpid()
        self._arrival = TorchArrival(self._start)

    def __enter__(self) -> Watch:
        self._arrival.install()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: Any) -> None:
        self._arrival.remove()
        if self._view is not None and os.getpid() == self._process:
            self._view.stop()
        if self.debugger is not None:
            try:
                self.debugger.__exit__(kind, error, traceback)
            except Exception as trouble:
                complain(f"the recording could not be closed ({trouble}); the script is not affected")

    def _start(self) -> None:
        # A fault of ours must not become the script's.
        try:
            from neuraldbg import session

            # A script with a NeuralDbg block of its own runs as it does under python: ours gives way to it.
            debugger = session.NeuralDbg(script=self._script, gives_way=True)
            debugger.__enter__()
            self.debugger = debugger
            if self._view is not None and debugger.path is not None:
                trouble = self._view.start(Path(debugger.path))
                if trouble:
                    complain(trouble)
        except Exception as error:
            complain(f"not watching: {error}; the script runs on without")


@dataclass(frozen=True)
class Launch:
    """A program to run under observation, and how to report on it."""

    program: Program
    verbose: bool = False
    #: Whether the view of ``watch`` stands below the script's output.
    live: bool = False
    #: What turns an exit code of 0 into EXIT_TRAINING_FAILED: "confirmed", "named", "suspected" or None.
    fail_on: str | None = None
    #: Where it is run.
    folder: Path = field(default_factory=Path.cwd)

    def carry_out(self) -> int:
        """Runs the program, prints the verdict on standard error, and returns the program's own exit code.

        Raises KeyboardInterrupt again where the program was interrupted, for the interpreter to end as it would have:
        by the signal, so that a shell sees 130.
        """
        process = os.getpid()
        watch = Watch(self.program.script or str(self.program.module), self.live)
        ended_by: BaseException | None = None
        try:
            with watch:
                self.program.execute()
        except BaseException as error:
            ended_by = error
        code = _report_as_python_does(ended_by)
        # A fork of the script that ran to its end is not the run; and a script that was not found did not run.
        if os.getpid() == process and not _never_ran(ended_by):
            diagnosis, trace = self._conclude(watch)
            if code == 0 and diagnosis is not None and self._fails(diagnosis, trace):
                code = EXIT_TRAINING_FAILED
        if isinstance(ended_by, KeyboardInterrupt):
            sys.excepthook = _silent
            raise ended_by
        return code

    def _fails(self, diagnosis: Diagnosis, trace: Path | None) -> bool:
        """Whether a script that ended well is to fail for what became of its training."""
        if self.fail_on is None or diagnosis.outcome not in ("failed", "uncertain"):
            return False
        if self.fail_on == "confirmed":
            return self._proved(diagnosis, trace)
        return self.fail_on == "suspected" or diagnosis.outcome == "failed"

    def _proved(self, diagnosis: Diagnosis, trace: Path | None) -> bool:
        """Trains again to test the causes, and says what came of it; trouble with that proves nothing."""
        from neuraldbg.cli._experiment import Options, Subject, on_a_bar, put_to_test

        if not diagnosis.hypotheses:
            say("\nNo cause in the vocabulary explains it, so that there is nothing to confirm.", error_stream())
            return False
        subject = Subject(self.program.script, self.program.module, self.program.arguments, self.folder, trace)
        say("\nTraining again to test the causes (--fail-on confirmed).", error_stream())
        try:
            with on_a_bar() as progress:
                result = put_to_test(subject, diagnosis, Options(), progress)
        except KeyboardInterrupt:
            complain("interrupted; nothing was confirmed")
            return False
        except Exception as trouble:
            complain(f"nothing was confirmed ({type(trouble).__name__}: {trouble})")
            return False
        from neuraldbg.report.proof import outcome
        from neuraldbg.report.text import clean

        for verdict in result.verdicts:
            say(f"{clean(verdict.cause)}: {clean(outcome(verdict))}", error_stream())
        return bool(result.confirmed)

    def _conclude(self, watch: Watch) -> tuple[Diagnosis | None, Path | None]:
        """Prints the verdict; returns it with its trace, or None where there is none."""
        found: Diagnosis | None = None
        with suppress(Exception):
            sys.stdout.flush()
        debugger = watch.debugger
        if debugger is None:
            if "torch" not in sys.modules:
                complain("the script never imported torch, so there was nothing to watch")
            return None, None
        if debugger.gave_way_to is not None:
            debugger = debugger.gave_way_to  # the script watched its own training; ours saw what lay around that
        from neuraldbg.cli._verdict import shown_path

        path = shown_path(str(debugger.path)) if debugger.path else ""
        try:
            from neuraldbg.report import print_verdict

            say("", error_stream())
            found = debugger.diagnosis()
            print_verdict(found, file=error_stream(), verbose=self.verbose)
        except KeyboardInterrupt:
            complain(f"interrupted; for the verdict: neuraldbg explain {path}")
            return None, None
        except Exception as trouble:
            complain(f"no verdict ({type(trouble).__name__}: {trouble}); the trace is kept")
        if path:
            say(f"\nTrace: {path}", error_stream())
        return found, Path(debugger.path) if debugger.path else None


def _report_as_python_does(error: BaseException | None) -> int:
    """Prints what the interpreter prints for an exception that nobody caught; returns its exit code."""
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        if error.code is None:
            return 0
        if isinstance(error.code, int):
            return error.code
        say(str(error.code), error_stream())
        return 1
    if _never_ran(error):
        complain(str(error))
        return 1
    traceback = without_our_frames(error.__traceback__)
    error = error.with_traceback(traceback)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    setattr(sys, "last_exc", error)  # noqa: B010 - new in Python 3.12
    try:
        sys.excepthook(type(error), error, traceback)
    except SystemExit as another:
        return _report_as_python_does(another)
    except BaseException as another:
        say("Error in sys.excepthook:", error_stream())
        hidden = another.with_traceback(without_our_frames(another.__traceback__))
        sys.__excepthook__(type(hidden), hidden, hidden.__traceback__)
        say("\nOriginal exception was:", error_stream())
        sys.__excepthook__(type(error), error, traceback)
    return 1


def _never_ran(error: BaseException | None) -> bool:
    """Whether the program itself could not be found: our own complaint, raised before any frame of the user's."""
    return isinstance(error, UsageError) and without_our_frames(error.__traceback__) is None


def _silent(kind: type[BaseException], error: BaseException, traceback: types.TracebackType | None) -> None:
    """The traceback has been printed already."""
