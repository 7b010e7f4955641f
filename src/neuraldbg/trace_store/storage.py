"""The writer's side of the tables: batches of queued records to rows. Used by one thread, the writer's."""

from __future__ import annotations

import ctypes
import json
import os
import sqlite3
import sys
import weakref
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuraldbg.trace_store.codec import plain_json
from neuraldbg.trace_store.connection import open_for_writing
from neuraldbg.trace_store.thinning import thin


@dataclass(frozen=True)
class PlaceRow:
    """A place that is new, or whose details changed."""

    identifier: int
    kind: str
    name: str
    details: str


@dataclass(frozen=True)
class FactRow:
    """A fact; its data is JSON already."""

    name: str
    step: int
    place: int | None
    data: str


@dataclass(frozen=True)
class MetaRow:
    """A setting; its value is JSON already."""

    key: str
    value: str


#: quantity, step, places, values: a bare tuple, for there are many.
ObservationRow = tuple[str, int, Sequence[int], Sequence[float]]
Row = ObservationRow | PlaceRow | FactRow | MetaRow

#: Connections of this process that a fork would take into the child.
_open: weakref.WeakSet[Storage] = weakref.WeakSet()
_fork_watched = False


class Storage:
    """An open trace file."""

    def __init__(self, path: Path, limit_bytes: int) -> None:
        self._path = path
        self._limit = self._threshold = limit_bytes
        self._connection = open_for_writing(path)
        self._identity = _identity(path)
        self._quantities: dict[str, int] = dict(self._connection.execute("SELECT name, id FROM quantities"))
        self._layouts: dict[tuple[int, ...], int] = {}
        #: Layouts by id() of the very tuple that came in: hashing a tuple of a thousand places each time is slow.
        self._seen: dict[int, tuple[Sequence[int], int]] = {}
        for identifier, places in self._connection.execute("SELECT id, place_ids FROM layouts"):
            self._layouts[tuple(_read_array("i", places))] = identifier
        self._known = {identifier for (identifier,) in self._connection.execute("SELECT id FROM places")}
        self._last_step = int(self.meta("last_step", -1))
        self._malformed = 0
        _watch_forks()
        _open.add(self)

    def meta(self, key: str, default: Any) -> Any:
        """A stored setting."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return default if row is None else json.loads(row[0])

    def places(self) -> list[tuple[int, str, str, str]]:
        """identifier, kind, name and details (JSON) of the places there are, in order."""
        return self._connection.execute("SELECT id, kind, name, details FROM places ORDER BY id").fetchall()

    def write(self, rows: Iterable[Row]) -> None:
        """Commit a batch.

        A record that cannot be stored (a value that is no number, say) is counted in the setting ``malformed`` and left
        out; the others are kept.

        Raises:
            sqlite3.Error, OSError: the disk refused, or the file is no longer there.
        """
        if _identity(self._path) != self._identity:
            raise OSError(f"{self._path} was deleted or replaced")
        blocks: dict[tuple[int, int], tuple[array[int], bytearray]] = {}
        last_step, malformed = self._last_step, ""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for row in rows:
                try:
                    if isinstance(row, tuple):
                        last_step = max(last_step, self._collect(row, blocks))
                    else:
                        last_step = max(last_step, self._insert(row))
                except (TypeError, ValueError, OverflowError, IndexError) as error:
                    self._malformed += 1
                    malformed = f"{row!r:.200}: {error}"
            self._connection.executemany(
                "INSERT INTO blocks (quantity, layout, steps, numbers) VALUES (?, ?, ?, ?)",
                [(*key, _write_array(steps), bytes(numbers)) for key, (steps, numbers) in blocks.items()],
            )
            if last_step > self._last_step:
                self._set("last_step", last_step)
            if malformed:
                self._set("malformed", {"count": self._malformed, "latest": malformed})
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._last_step = last_step

    def thin_if_large(self) -> Iterable[None]:
        """Thin old detail when the file has outgrown its limit; pauses where other batches may be written."""
        if self._used() <= self._threshold:
            return
        passes = int(self.meta("thinned", {"passes": 0})["passes"]) + 1
        self._set("thinned", {"passes": passes, "until_step": self._last_step, "limit_bytes": self._limit})
        yield from thin(self._connection, self._last_step)
        # Where the parts that are kept are themselves over the limit, another pass at every commit would find nothing.
        self._threshold = max(self._limit, int(self._used() * 1.1))

    def sync(self) -> None:
        """Force what is committed to the disk."""
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def close(self) -> None:
        """Close, leaving one plain file that can also be read in a folder that is read-only."""
        try:
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            # Somebody is reading: the log stays beside the file, and the last one to close it folds it in.
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close, come what may."""
        try:
            self._connection.close()
        except sqlite3.Error:
            pass
        finally:
            _open.discard(self)

    def _used(self) -> int:
        pages, free, size = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def _set(self, key: str, value: Any) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, plain_json(value)))

    def _insert(self, row: PlaceRow | FactRow | MetaRow) -> int:
        """Store a record that is no observation; the last step that it tells of, or -1."""
        if isinstance(row, PlaceRow):
            self._connection.execute(
                "INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)",
                (row.identifier, row.kind, _storable(row.name), row.details),
            )
            self._known.add(row.identifier)
        elif isinstance(row, FactRow):
            if row.place is not None and row.place not in self._known:
                raise ValueError("no such place")
            self._connection.execute(
                "INSERT INTO facts (name, step, place, data) VALUES (?, ?, ?, ?)",
                (_storable(row.name), int(row.step), row.place, row.data),
            )
        elif row.key == "last_step":  # kept as the largest of what the session says and what was observed
            return int(row.value)
        else:
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_storable(row.key), row.value))
        return -1

    def _collect(self, row: ObservationRow, blocks: dict[tuple[int, int], tuple[array[int], bytearray]]) -> int:
        """Add an observation to the block of its quantity and layout; its step."""
        quantity, step, places, values = row
        if len(places) != len(values):
            raise ValueError(f"{len(places)} places but {len(values)} values")
        step = int(step)
        steps = array("q", (step,))
        numbers = _write_array(array("d", values))
        key = (self._quantity(quantity), self._layout(places))
        block = blocks.get(key)
        if block is None:
            blocks[key] = (steps, bytearray(numbers))
        else:
            block[0].extend(steps)
            block[1].extend(numbers)
        return step

    def _quantity(self, name: str) -> int:
        identifier = self._quantities.get(name)
        if identifier is None:
            stored = _storable(name)
            self._connection.execute("INSERT OR IGNORE INTO quantities (name) VALUES (?)", (stored,))
            (identifier,) = self._connection.execute("SELECT id FROM quantities WHERE name = ?", (stored,)).fetchone()
            self._quantities[name] = identifier
        return identifier

    def _layout(self, places: Sequence[int]) -> int:
        seen = self._seen.get(id(places))
        if seen is not None and seen[0] is places:
            return seen[1]
        key = tuple(int(place) for place in places)
        identifier = self._layouts.get(key)
        if identifier is None:
            if not self._known.issuperset(key):
                raise ValueError("no such place")
            cursor = self._connection.execute(
                "INSERT INTO layouts (width, place_ids) VALUES (?, ?)", (len(key), _write_array(array("i", key)))
            )
            assert cursor.lastrowid is not None
            identifier = self._layouts[key] = cursor.lastrowid
        if isinstance(places, tuple):  # holding it keeps its id() from being used again
            if len(self._seen) >= 10_000:
                self._seen.clear()
            self._seen[id(places)] = (places, identifier)
        return identifier


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _write_array(numbers: array[Any]) -> bytes:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _read_array(code: str, data: bytes) -> array[Any]:
    numbers: array[Any] = array(code)
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _storable(text: str) -> str:
    """Text that SQLite takes: halves of surrogate pairs, which file names can hold, are replaced."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def _watch_forks() -> None:
    global _fork_watched
    if not _fork_watched and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_leak)
        _fork_watched = True


def _leak() -> None:
    """In a forked child: make sure that no connection of the parent is ever closed.

    Closing one would wait for a lock that the parent's thread may have held at the fork, and could fold in a log that
    the parent still writes. A reference too many keeps it open until the child ends, which releases nothing of ours.
    """
    for storage in list(_open):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(storage._connection))
