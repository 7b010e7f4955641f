"""Recording: a queue that the training loop appends to, and a thread that commits it to the trace file."""

from __future__ import annotations

import atexit
import json
import os
import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from copy import copy
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from neuraldbg.errors import TraceError, UsageError
from neuraldbg.records import PLACE_KINDS
from neuraldbg.trace_store._process import imports_the_script_again, ranks
from neuraldbg.trace_store._warn import warn
from neuraldbg.trace_store.codec import plain_json
from neuraldbg.trace_store.storage import FactRow, MetaRow, PlaceRow, Row, Storage

#: A killed process loses what was queued since the last commit: at most this, plus the time of one commit.
COMMIT_SECONDS = 0.5
#: Records that may wait when the disk hangs; more are dropped and counted, for the loop is never made to wait.
QUEUE_LIMIT = 1_000_000
#: Records after which the thread is woken early.
WAKE_EVERY = 1 << 14
#: Seconds that close() waits for a disk that hangs.
CLOSE_SECONDS = 30.0


class TraceWriter:
    """Writes one trace file from a training loop, without ever stopping or delaying it.

    A disk that is full, read-only or gone ends the recording: ``failure`` says why, one warning is given, and further
    calls do nothing. In a forked child, in a process that merely imports the main script again (multiprocessing's
    "spawn"), and after unpickling, a writer does nothing at all: the file belongs to the process that made it.
    """

    #: While fewer records than this wait, one more may be put into ``queue`` as it is, without ``observe``.
    FEW = WAKE_EVERY - 1

    _storage: Storage | None
    _thread: threading.Thread | None

    def __init__(self, path: str | os.PathLike[str], meta: Mapping[str, Any], limit_bytes: int = 200_000_000) -> None:
        """Create the file, or go on with it when it is a trace already.

        Args:
            path: the trace file; an empty one is taken as new.
            meta: settings of the run, JSON-like.
            limit_bytes: size from which old detail is thinned, see thinning.py.
        """
        self._be_inert(Path(path))
        if imports_the_script_again():
            return
        try:
            self._storage = Storage(self._path, limit_bytes)
            for identifier, kind, name, details in self._storage.places():
                self._places[kind, name] = identifier
                self._details.append(json.loads(details))
        except (sqlite3.Error, OSError, TraceError, ValueError) as error:
            self._fail(error)
            return
        self.recording = True
        _recording.add(self)
        for key, value in {"started": _now(), "finished": None, "pid": self._pid, **_among_ranks(), **meta}.items():
            self.set_meta(key, value)
        self._thread = threading.Thread(target=self._run, name="neuraldbg-trace", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def _be_inert(self, path: Path) -> None:
        self._path = path
        self._pid = os.getpid()
        self._failure: str | None = None
        #: Whether observations are taken, and those that wait to be written.
        self.recording = False
        self._closing = False
        self._dropped = 0
        self.queue: deque[Row | threading.Event] = deque()
        self._wake = threading.Event()
        self._lock = threading.RLock()
        self._places: dict[tuple[str, str], int] = {}
        self._details: list[dict[str, Any]] = []
        self._storage = None
        self._thread = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _inert, (str(self._path),)

    @property
    def path(self) -> Path:
        """The trace file."""
        return self._path

    @property
    def failure(self) -> str | None:
        """Why the recording stopped before its end, or None."""
        return self._failure

    def place(self, kind: str, name: str, details: Mapping[str, Any] | None = None) -> int:
        """The identifier of a place, which is made when it is new; details are added to those it has.

        Raises:
            UsageError: a kind that is not one of PLACE_KINDS.
        """
        identifier = self._places.get((kind, name))
        if identifier is not None and not details:
            return identifier
        if kind not in PLACE_KINDS:
            raise UsageError(f"expected a kind of place out of {', '.join(PLACE_KINDS)}, found {kind!r}")
        if self._pid != os.getpid():  # another thread may have held the lock at the fork
            return self._places.setdefault((kind, name), len(self._places))
        with self._lock:
            identifier = self._places.get((kind, name))
            if identifier is None:
                identifier = self._places[kind, name] = len(self._details)
                self._details.append({})
                changed = True
            else:
                changed = False
            if details:
                merged = {**self._details[identifier], **details}
                changed = changed or plain_json(merged) != plain_json(self._details[identifier])
                self._details[identifier] = merged
            if changed and self.recording:
                self.queue.append(PlaceRow(identifier, kind, name, plain_json(self._details[identifier])))
            return identifier

    def observe(self, quantity: str, step: int, places: Sequence[int], values: Sequence[float]) -> None:
        """Queue one number per place, NaN where there is none. A microsecond or so; pass the same tuple of places."""
        if not self.recording:  # in a forked child neither, see below
            return
        queue = self.queue
        waiting = len(queue)
        if waiting >= QUEUE_LIMIT:
            self._dropped += 1
            return
        # A list or an array may be changed by its owner before the thread comes to it.
        if type(places) is not tuple:
            places = _snapshot(places)
        if type(values) is not tuple:
            values = _snapshot(values)
        queue.append((quantity, step, places, values))
        if waiting & (WAKE_EVERY - 1) == WAKE_EVERY - 1:
            self._wake.set()

    def fact(self, name: str, step: int, place: int | None, data: Mapping[str, Any]) -> None:
        """Queue a fact about a place, or about the run; what has no JSON form in ``data`` is kept as text."""
        if self.recording and self._pid == os.getpid():
            self.queue.append(FactRow(name, step, place, plain_json(data)))

    def set_meta(self, key: str, value: Any) -> None:
        """Queue a setting; replaces an earlier one of that key, but ``last_step`` never falls."""
        if self.recording and self._pid == os.getpid():
            self.queue.append(MetaRow(key, plain_json(value)))

    def flush(self) -> None:
        """Wait until everything queued so far is on disk, or the recording has failed."""
        if not self.recording or self._pid != os.getpid() or self._thread is None:
            return
        done = threading.Event()
        self.queue.append(done)
        self._wake.set()
        while not done.wait(0.1):
            if not self._thread.is_alive():
                return

    def close(self) -> None:
        """Commit the rest and close the file; a second call does nothing. Called at interpreter exit by itself."""
        if self._pid != os.getpid():
            return
        if self.recording:
            if self._dropped:
                self.set_meta("dropped", self._dropped)
            self.set_meta("finished", _now())
        self._closing = True
        self.recording = False
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)
            if self._thread.is_alive() and self._failure is None:
                self._fail(OSError(f"the disk did not answer for {CLOSE_SECONDS:.0f} seconds"))
        atexit.unregister(self.close)

    def _run(self) -> None:
        storage = self._storage
        assert storage is not None
        try:
            while True:
                self._wake.wait(COMMIT_SECONDS)
                self._wake.clear()
                closing = self._closing  # read first: what was queued before close() is then surely drained
                self._drain(storage)
                for _ in storage.thin_if_large():
                    self._drain(storage)
                if closing:
                    storage.close()
                    return
        except Exception as error:
            # Whatever it is, it must end here: an exception in a thread would be printed into the user's terminal.
            storage.abandon()
            self._fail(error)

    def _drain(self, storage: Storage) -> None:
        rows: list[Row] = []
        waiting: list[threading.Event] = []
        for _ in range(len(self.queue)):
            item = self.queue.popleft()
            if isinstance(item, threading.Event):
                waiting.append(item)
            else:
                rows.append(item)
        if rows:
            storage.write(rows)
        if waiting:
            storage.sync()
        for event in waiting:
            event.set()

    def _fail(self, error: Exception) -> None:
        self.recording = False
        self.queue.clear()
        self._failure = f"{self._path}: {error}" if str(self._path) not in str(error) else str(error)
        warn(f"the trace is not recorded any further, training goes on: {self._failure}")


def _snapshot(values: Any) -> Any:
    """A copy that nobody else can change; whatever cannot be copied is left to the thread to refuse."""
    try:
        return values.copy() if hasattr(values, "copy") else copy(values)
    except Exception:
        return values


#: Writers that record, for a fork: asking for the process at every observation would be a call of the system.
_recording: weakref.WeakSet[TraceWriter] = weakref.WeakSet()


def _stop_in_child() -> None:
    for writer in list(_recording):
        writer.recording = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_stop_in_child)


def _among_ranks() -> dict[str, Any]:
    found = ranks()
    return {} if found is None else {"ranks": found}


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _inert(path: str) -> TraceWriter:
    """What an unpickled writer becomes: one that does nothing."""
    writer = TraceWriter.__new__(TraceWriter)
    writer._be_inert(Path(path))
    return writer
