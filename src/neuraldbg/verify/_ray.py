"""Replays on a Ray cluster: each is a task, and on the node that gets it a process of its own, as on this machine."""

from __future__ import annotations

import io
import json
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuraldbg.errors import UsageError
from neuraldbg.verify._engine import Fork, Process, Running, Start
from neuraldbg.verify._replay import Plan, Replay
from neuraldbg.verify._workspace import copy_folder

_PAUSE = 0.05


@dataclass(frozen=True)
class _Job:
    """What a node needs to know."""

    #: Folder of the program on the machine that asked; paths below it lead into the copy.
    folder: str
    #: Small files of that folder, as a tar; large ones are links, which lead somewhere on nodes that share a disk.
    files: bytes
    #: Arguments of the interpreter, or None for a function.
    command: tuple[str, ...] | None
    extra: dict[str, Any]
    train: Callable[[], Any] | None


def _packed(folder: Path) -> bytes:
    with tempfile.TemporaryDirectory(prefix="neuraldbg-pack-") as scratch:
        copy_folder(folder, Path(scratch) / "work")
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
            archive.add(Path(scratch) / "work", arcname="work")
        return buffer.getvalue()


def _on_node(plan: dict[str, Any], job: _Job) -> dict[str, Any]:
    """Carried out by a node: one run, within its limit of seconds; returns the data of a ``Replay``."""
    wanted = Plan.of(plan)
    with tempfile.TemporaryDirectory(prefix="neuraldbg-node-") as scratch:
        with tarfile.open(fileobj=io.BytesIO(job.files)) as archive:
            # Packed by the other end of this very task; links to absolute paths are wanted.
            trusted = {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}
            archive.extractall(scratch, **trusted)
        source = Path(scratch).resolve() / "work"
        running: Running
        if job.command is not None:
            command = [sys.executable, *job.command]
            running = Process(wanted, Path(job.folder), command, job.extra, source)
        else:
            assert job.train is not None
            running = Fork(wanted, job.train, Path(job.folder), source)
        begin = time.monotonic()
        while True:
            replay = running.poll()
            if replay is not None:
                return replay.data()
            if time.monotonic() - begin > wanted.limit:
                replay = running.kill("hung")
                replay.error = f"no end after {wanted.limit:.0f} s"
                return replay.data()
            time.sleep(_PAUSE)


class _Task:
    """A run that a node has, or waits for one."""

    #: The node keeps the time: waiting for a place in the cluster is not hanging.
    keeps_time = True

    def __init__(self, ray: Any, reference: Any) -> None:
        self._ray, self._reference = ray, reference

    def poll(self) -> Replay | None:
        done, _ = self._ray.wait([self._reference], timeout=0)
        if not done:
            return None
        try:
            return Replay(**self._ray.get(self._reference))
        except Exception as error:  # a node that was lost, a function that could not be sent
            text = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            return Replay(outcome="crashed", error=text)

    def kill(self, outcome: str) -> Replay:
        self._ray.cancel(self._reference, force=True)
        return Replay(outcome=outcome)


def _connected() -> Any:
    """Ray, connected: to ``RAY_ADDRESS``, else to the cluster that runs on this machine, else to one of its own.

    Raises:
        UsageError: Ray is not installed, or the cluster can't be reached.
    """
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            "engine 'ray' expects the package ray, found none; install it: pip install 'neuraldbg[ray]'"
        ) from error
    if not ray.is_initialized():
        try:
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, RuntimeError, ValueError) as error:
            text = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise UsageError(f"engine 'ray' expects a cluster, found none: {text}; check RAY_ADDRESS") from error
    return ray


def _starter(folder: Path, command: Sequence[str] | None, extra: dict[str, Any], train: Any) -> Start:
    ray = _connected()
    # On a cluster with GPUs each run gets one; without asking, a task sees none.
    graphics = 1 if ray.cluster_resources().get("GPU", 0) >= 1 else 0
    task = ray.remote(num_cpus=1, num_gpus=graphics, max_retries=0)(_on_node)
    job = _Job(str(folder.resolve()), _packed(folder.resolve()), tuple(command) if command else None, extra, train)
    try:
        sent = ray.put(job)
    except TypeError as error:
        text = str(error).splitlines()[0][:200]
        raise UsageError(
            f"engine 'ray' expects a function that can be sent to another machine, found one that can't: {text}; "
            "build model and data inside of it"
        ) from error
    return lambda plan: _Task(ray, task.remote(plan.data(), sent))


def functions_on_ray(train: Callable[[], Any], folder: Path | None = None) -> Start:
    """Runs of a function, each on a node of the cluster.

    Raises:
        UsageError: Ray is not there, no cluster answers, or the function can't be sent.
    """
    return _starter(folder or Path.cwd(), None, {}, train)


def scripts_on_ray(folder: Path, command: Sequence[str], extra: dict[str, Any]) -> Start:
    """Runs of a script, each on a node, in a copy of ``folder`` that is sent along.

    Args:
        folder: working folder of the script.
        command: interpreter and arguments; the node puts its own interpreter first.
        extra: what the process is told beside its plan.

    Raises:
        UsageError: Ray is not there, or no cluster answers.
    """
    return _starter(folder, command[1:], json.loads(json.dumps(extra)), None)


def places() -> int:
    """How many runs the cluster takes at a time: its processors, or its GPUs where it has any."""
    resources = _connected().cluster_resources()
    return max(1, int(resources.get("GPU", 0) or resources.get("CPU", 1)))
