"""The other end of a replay: a script in a process of its own, under a plan that lies in a file.

Not a verb: ``neuraldbg verify`` starts it as ``python -m neuraldbg.cli._replay PLAN``.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuraldbg.cli._program import Program
from neuraldbg.cli._torch_arrival import TorchArrival

if TYPE_CHECKING:
    from neuraldbg.session import NeuralDbg


def main(specification: str) -> None:
    """Run the script and leave the result where the plan says; ends the process."""
    data = json.loads(Path(specification).read_text("utf-8"))
    program = Program(data["script"], data["module"], tuple(data["arguments"]))
    state = _State(data)
    state.guard()
    arrival = TorchArrival(state.begin)
    arrival.install()
    error: BaseException | None = None
    try:
        program.execute()
    except BaseException as raised:
        error = raised
    arrival.remove()
    state.end(error)
    # Threads and workers of the script have nothing to wait for.
    sys.stderr.flush()
    os._exit(0)


class _State:
    """What is at work between torch's arrival and the end of the script."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data
        self._stack = contextlib.ExitStack()
        self._process = os.getpid()
        self._begin = time.monotonic()
        self._replay: Any = None
        self._guard: Any = None
        self._recording: NeuralDbg | None = None

    def guard(self) -> None:
        """From the first line of the script on, the user's files can't be written."""
        from neuraldbg.verify._workspace import Guard

        self._guard = Guard(Path(self._data["workspace"]), Path(self._data["folder"]))
        self._guard.install()

    def begin(self) -> None:
        """Torch has been imported: seeds, intervention and meter go to work, and a recording where one is wanted."""
        from neuraldbg.verify._replay import Plan, Replay, at_work

        self._replay = Replay()
        trace = self._data.get("trace")
        if trace:
            from neuraldbg.session import NeuralDbg

            # A script with a block of its own runs as it does without ours, which gives way to it.
            self._recording = NeuralDbg(path=trace, script=self._data["shown"], gives_way=True)
            self._stack.enter_context(self._recording)
        self._guard.around_torch()
        self._stack.enter_context(at_work(Plan.of(self._data["plan"]), self._replay))

    def end(self, error: BaseException | None) -> None:
        """Everything is undone, and the result is written."""
        from neuraldbg.verify._engine import write_result
        from neuraldbg.verify._replay import Enough, Replay, note_error

        if os.getpid() != self._process or threading.current_thread() is not threading.main_thread():
            return
        replay = self._replay or Replay(outcome="crashed", error="the script never imported torch")
        with contextlib.suppress(Exception):
            self._stack.close()
        with contextlib.suppress(Exception):
            self._keep_own_trace()
        if isinstance(error, Enough):
            replay.outcome = "stopped"
        elif error is not None:
            note_error(replay, error)
        replay.seconds = time.monotonic() - self._begin
        write_result(Path(self._data["result"]), replay)

    def _keep_own_trace(self) -> None:
        """Where the script watched its own training, that trace is the wanted one: ours saw what lay around it."""
        inner = self._recording.gave_way_to if self._recording is not None else None
        if inner is None or inner.path is None or not inner.path.exists():
            return
        inner.__exit__(None, None, None)  # the script may have entered a block without leaving it
        with (
            contextlib.closing(sqlite3.connect(inner.path)) as source,
            contextlib.closing(sqlite3.connect(self._data["trace"])) as target,
        ):
            source.backup(target)


if __name__ == "__main__":
    main(sys.argv[1])
