"""The tables of a trace file, as numbered steps from an empty file to the present format."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from neuraldbg.errors import NotATrace, TraceTooNew

#: "NDBG" in ASCII, in the header of every trace (bytes 68 to 71), so that ``file`` and we know our own files.
APPLICATION_ID = 0x4E444247

#: Entry n takes a file from format n to format n + 1. Never edit one that was released: append.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # One JSON value per key.
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        # details: JSON object. Identifiers count from 0.
        "CREATE TABLE places (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, details TEXT NOT NULL,"
        " UNIQUE (kind, name))",
        "CREATE TABLE quantities (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        # A tuple of places that is observed together; place_ids: int32, little-endian. Each tuple is stored once.
        "CREATE TABLE layouts (id INTEGER PRIMARY KEY, width INTEGER NOT NULL, place_ids BLOB NOT NULL)",
        # The rows of one quantity and layout that were committed together. steps: int64, one per row; numbers: float64,
        # row after row, width per row; both little-endian.
        "CREATE TABLE blocks (id INTEGER PRIMARY KEY, quantity INTEGER NOT NULL REFERENCES quantities,"
        " layout INTEGER NOT NULL REFERENCES layouts, steps BLOB NOT NULL, numbers BLOB NOT NULL)",
        # data: JSON object (NaN, Infinity and -Infinity as Python's json writes them). place is NULL for the run.
        "CREATE TABLE facts (id INTEGER PRIMARY KEY, name TEXT NOT NULL, step INTEGER NOT NULL,"
        " place INTEGER REFERENCES places, data TEXT NOT NULL)",
    ),
    (
        # The last diagnosis made of this trace: outcome and summary in the clear for listings, all of it in data.
        "CREATE TABLE diagnosis (id INTEGER PRIMARY KEY CHECK (id = 0), schema_version INTEGER NOT NULL,"
        " outcome TEXT NOT NULL, summary TEXT NOT NULL, data TEXT NOT NULL)",
    ),
    (
        # Experiments that tested hypotheses about this run, one row each; a higher id is newer.
        "CREATE TABLE verifications (id INTEGER PRIMARY KEY, schema_version INTEGER NOT NULL, data TEXT NOT NULL)",
    ),
)

#: The format that this version writes.
FORMAT_VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, target: int = FORMAT_VERSION) -> None:
    """Bring a file to the format ``target``, all steps in one transaction: it is old or new, never between."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        for number in range(version, target):
            for statement in MIGRATIONS[number]:
                connection.execute(statement)
        if version < target:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {target}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def format_of(connection: sqlite3.Connection, path: Path) -> int:
    """The format version of an open trace file.

    Raises:
        NotATrace: another program's database.
        TraceTooNew: written by a newer version of NeuralDBG.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise NotATrace(
            f"{str(path)!r}: expected a NeuralDBG trace, found a file of another kind; name a file that ends in .ndbg."
        )
    if version > FORMAT_VERSION:
        raise TraceTooNew(
            f"{str(path)!r}: expected a trace of format {FORMAT_VERSION} or older, found format {version}; "
            "upgrade NeuralDBG to read it."
        )
    return int(version)
