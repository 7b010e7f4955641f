"""Replays that are kept on disk, so that a change of the judge is measured without training again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from neuraldbg.verify._engine import Running, Start, in_forks
from neuraldbg.verify._replay import Plan, Replay
from neuraldbg.verify.interventions import all_interventions


@cache
def _sources() -> dict[str, str]:
    """The interventions as they are when the bench begins: a file that is edited meanwhile is not what runs."""
    return {name: Path(rule.__file__ or "").read_text() for name, rule in all_interventions().items()}


class _Kept:
    """A run that was carried out before."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    def poll(self) -> Replay | None:
        return self._replay

    def kill(self, outcome: str) -> Replay:
        return self._replay


class _Keeping:
    """A run whose result is written down."""

    def __init__(self, running: Running, path: Path) -> None:
        self._running, self._path = running, path

    def poll(self) -> Replay | None:
        replay = self._running.poll()
        if replay is not None and replay.outcome in ("finished", "stopped"):
            self._path.write_text(json.dumps(replay.data()))
        return replay

    def kill(self, outcome: str) -> Replay:
        return self._running.kill(outcome)


def kept(case: str, train: Callable[[], Any], folder: Path | None) -> Start:
    """Runs in forks; with a folder, a run of the same case, plan and intervention's source is read back instead."""
    start = in_forks(train)
    if folder is None:
        return start
    folder.mkdir(parents=True, exist_ok=True)
    sources = _sources()

    def begin(plan: Plan) -> Running:
        source = sources[plan.intervention] if plan.intervention else ""
        what = asdict(plan)
        del what["limit"]
        if plan.intervention is None:
            del what["target"]
        key = hashlib.sha256(json.dumps([case, what, source], sort_keys=True).encode()).hexdigest()[:24]
        path = folder / f"{key}.json"
        if path.exists():
            return _Kept(Replay(**json.loads(path.read_text())))
        return _Keeping(start(plan), path)

    return begin
