"""Carries runs out, several side by side, each in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from neuraldbg.errors import UsageError
from neuraldbg.verify._replay import Plan, Replay, carry_out
from neuraldbg.verify._workspace import Guard, new_workspace

_PAUSE = 0.02
#: Where runs are carried out: on this machine, or on a Ray cluster.
ENGINES = ("local", "ray")


class Running(Protocol):
    """A run that has been started."""

    def poll(self) -> Replay | None:
        """Its result, once there is one."""

    def kill(self, outcome: str) -> Replay:
        """End it; what is left is a result with that outcome."""


#: Starts a run; handed in from above, for what is trained is not known here.
Start = Callable[[Plan], Running]


def carry_out_all(
    plans: Sequence[Plan], start: Start, jobs: int, on_done: Callable[[Plan, Replay], None]
) -> list[Replay | None]:
    """All runs, at most ``jobs`` at a time, results in the order of the plans.

    Raises:
        KeyboardInterrupt: after the runs that go on were ended; ``on_done`` has seen those that were done.
    """
    results: list[Replay | None] = [None] * len(plans)
    waiting = list(range(len(plans)))
    going: dict[int, tuple[Running, float]] = {}
    try:
        while waiting or going:
            while waiting and len(going) < max(1, jobs):
                index = waiting.pop(0)
                going[index] = (start(plans[index]), time.monotonic())
            for index, (running, begin) in list(going.items()):
                replay = running.poll()
                # A run elsewhere that waits for its turn is not hanging; whoever carries it out keeps the time.
                keeps_time = getattr(running, "keeps_time", False)
                if replay is None and not keeps_time and time.monotonic() - begin > plans[index].limit:
                    replay = running.kill("hung")
                    replay.error = f"no end after {plans[index].limit:.0f} s"
                if replay is not None:
                    del going[index]
                    results[index] = replay
                    on_done(plans[index], replay)
            time.sleep(_PAUSE)
    finally:
        for running, _ in going.values():
            with contextlib.suppress(Exception):
                running.kill("killed")
    return results


class InProcess:
    """A run in this process: no time limit, and a crash of the interpreter is one of ours."""

    def __init__(self, plan: Plan, train: Callable[[], Any]) -> None:
        self._replay = carry_out(plan, train)

    def poll(self) -> Replay | None:
        return self._replay

    def kill(self, outcome: str) -> Replay:
        return self._replay


class Child:
    """What a fork and a process have in common: a pid, a folder, and a file in which the result appears."""

    def __init__(self, source: Path) -> None:
        self._stack = contextlib.ExitStack()
        self.workspace = self._stack.enter_context(new_workspace(source))
        self.result = self.workspace.parent / "result.json"
        self.pid = 0

    def _ended(self, code: int, last_words: str = "") -> Replay:
        """The result that was left, or a line that says how the process ended."""
        try:
            replay = Replay(**json.loads(self.result.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            replay = Replay(outcome="crashed", error=last_words or f"it ended with code {code} and left no result")
            if code < 0:
                replay.outcome = "killed"
                name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
                replay.error = f"by {name}" + ("; the machine may have run out of memory" if code == -9 else "")
        replay.places = {name: self._in_original(place) for name, place in replay.places.items()}
        self._stack.close()
        return replay

    def _in_original(self, place: str) -> str:
        return place.removeprefix(str(self.workspace) + os.sep)

    def _end_group(self) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)


class Fork(Child):
    """A copy of this process that trains; for a function that no file holds.

    ``source`` is where the files of ``folder`` are copied from, where that is another place than the folder itself.
    """

    def __init__(self, plan: Plan, train: Callable[[], Any], folder: Path, source: Path | None = None) -> None:
        super().__init__(source or folder)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._train(plan, train, folder)

    def _train(self, plan: Plan, train: Callable[[], Any], folder: Path) -> None:
        try:
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nowhere, number)
            os.chdir(self.workspace)
            os.environ["TMPDIR"] = str(self.workspace.parent / "tmp")
            import tempfile

            import torch

            tempfile.tempdir = None
            # The threads of the parent are not there in a copy of it.
            torch.set_num_threads(1)
            guard = Guard(self.workspace, folder)
            guard.install()
            guard.around_torch()
            replay = carry_out(plan, train)
            write_result(self.result, replay)
        except BaseException as error:
            with contextlib.suppress(BaseException):
                write_result(self.result, Replay(outcome="crashed", error=f"{type(error).__name__}: {error}"))
        finally:
            os._exit(0)

    def poll(self) -> Replay | None:
        done, status = os.waitpid(self.pid, os.WNOHANG)
        return self._ended(os.waitstatus_to_exitcode(status)) if done else None

    def kill(self, outcome: str) -> Replay:
        self._end_group()
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self._stack.close()
        return Replay(outcome=outcome)


class Process(Child):
    """A script in an interpreter of its own, started by a command that reads its plan from a file.

    ``source`` is where the files of ``folder`` are copied from, where that is another place than the folder itself.
    """

    def __init__(
        self, plan: Plan, folder: Path, command: Sequence[str], extra: dict[str, Any], source: Path | None = None
    ) -> None:
        super().__init__(source or folder)
        specification = self.workspace.parent / "plan.json"
        data = {
            **extra,
            "plan": plan.data(),
            "workspace": str(self.workspace),
            "folder": str(folder),
            "result": str(self.result),
        }
        specification.write_text(json.dumps(data), "utf-8")
        environment = {
            **os.environ,
            "TMPDIR": str(self.workspace.parent / "tmp"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        environment.pop("NEURALDBG_DIR", None)
        self._errors = self._stack.enter_context((self.workspace.parent / "errors").open("w+b"))
        self._process = subprocess.Popen(
            [*command, str(specification)],
            cwd=self.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,
        )
        self.pid = self._process.pid

    def poll(self) -> Replay | None:
        code = self._process.poll()
        if code is None:
            return None
        self._errors.seek(0)
        lines = self._errors.read()[-4000:].decode("utf-8", "replace").strip().splitlines()
        self._end_group()  # workers of a data loader that outlived it
        return self._ended(code, lines[-1][:300] if lines else "")

    def kill(self, outcome: str) -> Replay:
        self._end_group()
        self._process.wait()
        self._stack.close()
        return Replay(outcome=outcome)


def write_result(path: Path, replay: Replay) -> None:
    """Leave a result for the process that started this one; whole or not at all."""
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(replay.data()), "utf-8")
    os.replace(unfinished, path)


def in_forks(train: Callable[[], Any], folder: Path | None = None) -> Start:
    """Runs of a function, each in a fork; in this process where the system has no fork, or a GPU is in use."""
    import torch

    if not hasattr(os, "fork") or (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return lambda plan: InProcess(plan, train)
    where = (folder or Path.cwd()).resolve()
    return lambda plan: Fork(plan, train, where)


def in_processes(folder: Path, command: Sequence[str], extra: dict[str, Any]) -> Start:
    """Runs of a script, each through ``command``, in a copy of ``folder``."""
    return lambda plan: Process(plan, folder.resolve(), command, extra)


def engine(name: str) -> str:
    """The name of an engine, checked.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in ENGINES:
        raise UsageError(f"expected an engine, found {name!r}; there are {', '.join(ENGINES)}")
    return name
