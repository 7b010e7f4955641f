"""Following a trace that is being written: what came since the last look, and no more."""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from neuraldbg.trace_store.connection import damaged, open_read_only


@dataclass
class Tail:
    """The curves of a few quantities, grown at each look. The file is open only while it is looked at."""

    path: Path
    #: Quantities that are followed; of each the first place counts.
    quantities: tuple[str, ...]
    meta: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, list[int]] = field(default_factory=dict)
    values: dict[str, list[float]] = field(default_factory=dict)
    #: Highest step that was seen in any of them, -1 before the first.
    last_step: int = -1
    _block: int = 0

    #: Points that are kept of a curve; more are halved.
    MOST_POINTS = 20_000

    def look(self) -> bool:
        """Reads what is new and returns whether there was anything.

        The writer is never waited for and never made to wait: a reader sees the last commit, in one short transaction.

        Raises:
            NotATrace, TraceTooNew: as read_trace.
        """
        connection = open_read_only(Path(self.path))
        try:
            connection.execute("BEGIN")
            self.meta = {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM meta")}
            names = {identifier: name for identifier, name in connection.execute("SELECT id, name FROM quantities")}
            wanted = [identifier for identifier, name in names.items() if name in self.quantities]
            marks = ",".join("?" * len(wanted))
            rows = connection.execute(
                f"SELECT id, quantity, steps, numbers FROM blocks WHERE id > ? AND quantity IN ({marks}) ORDER BY id",
                (self._block, *wanted),
            ).fetchall()
        except (sqlite3.Error, ValueError) as error:
            raise damaged(Path(self.path), sqlite3.DatabaseError(str(error))) from error
        finally:
            connection.close()
        for identifier, quantity, steps, numbers in rows:
            self._block = max(self._block, identifier)
            self._add(names[quantity], np.frombuffer(steps, "<i8"), np.frombuffer(numbers, "<f8"))
        return bool(rows)

    def _add(self, name: str, steps: Any, numbers: Any) -> None:
        if not len(steps):
            return
        first = numbers.reshape(len(steps), -1)[:, 0]
        self.last_step = max(self.last_step, int(steps[-1]))
        known_steps, known = self.steps.setdefault(name, []), self.values.setdefault(name, [])
        known_steps += steps.tolist()
        known += first.tolist()
        while len(known) > self.MOST_POINTS:
            del known[1:-1:2], known_steps[1:-1:2]

    def size(self) -> int:
        """Bytes of the trace with its log."""
        found = 0
        for name in (str(self.path), f"{self.path}-wal"):
            try:
                found += os.stat(name).st_size
            except OSError:
                continue
        return found
