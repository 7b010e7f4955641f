"""Reading traces, and keeping a diagnosis with the trace that it was made of."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from neuraldbg.errors import NotATrace, TraceError, TraceTooNew
from neuraldbg.records import Block, Diagnosis, Fact, Place, Trace, Verification
from neuraldbg.trace_store.codec import DIAGNOSIS_SCHEMA, decode_record, encode_record
from neuraldbg.trace_store.connection import damaged, open_for_adding, open_read_only

AnyPath = str | os.PathLike[str]


def read_trace(path: AnyPath) -> Trace:
    """Everything that a trace file holds; also of a run that is still alive, as of its last commit, or was killed.

    ``meta["last_step"]`` is the larger of what the session noted and the last step that was observed.

    Raises:
        NotATrace: missing, foreign or damaged.
        TraceTooNew: written by a newer version.
    """
    file = Path(path)
    connection = open_read_only(file)
    try:
        connection.execute("BEGIN")  # one view of the file, however much is being written meanwhile
        meta = _meta(connection)
        places = [
            Place(identifier, kind, name, json.loads(details))
            for identifier, kind, name, details in connection.execute("SELECT * FROM places ORDER BY id")
        ]
        by_identifier = {place.identifier: place for place in places}
        facts = [
            Fact(name, step, None if place is None else by_identifier[place], json.loads(data))
            for name, step, place, data in connection.execute("SELECT name, step, place, data FROM facts ORDER BY id")
        ]
        blocks = _blocks(connection)
    except sqlite3.Error as error:
        raise damaged(file, error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(file, sqlite3.DatabaseError(f"{type(error).__name__}: {error}")) from error
    finally:
        connection.close()
    observed = max(
        (int(block.steps.max()) for part in blocks.values() for block in part if len(block.steps)), default=-1
    )
    meta["last_step"] = max(int(meta.get("last_step", -1)), observed)
    return Trace(places, (), facts, meta, blocks)


def summary(path: AnyPath) -> dict[str, Any]:
    """The settings of a trace, with ``outcome`` and ``verdict`` (a sentence) once it was diagnosed; reads no numbers.

    Raises:
        NotATrace, TraceTooNew: as read_trace.
    """
    file = Path(path)
    connection = open_read_only(file)
    try:
        meta = _meta(connection)
        diagnosed = connection.execute("SELECT outcome, summary FROM diagnosis").fetchone()
    except (sqlite3.Error, ValueError) as error:
        raise damaged(file, sqlite3.DatabaseError(str(error))) from error
    finally:
        connection.close()
    if diagnosed is not None:
        meta["outcome"], meta["verdict"] = diagnosed
    return meta


def write_diagnosis(path: AnyPath, diagnosis: Diagnosis) -> None:
    """Keep a diagnosis in its trace, in place of an earlier one.

    Raises:
        NotATrace, TraceTooNew: as read_trace.
        TraceError: the file cannot be written.
    """
    file = Path(path)
    text = encode_record(diagnosis)
    try:
        connection = open_for_adding(file)
        try:
            connection.execute(
                "INSERT OR REPLACE INTO diagnosis VALUES (0, ?, ?, ?, ?)",
                (DIAGNOSIS_SCHEMA, diagnosis.outcome, diagnosis.summary.encode("utf-8", "replace").decode(), text),
            )
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise TraceError(
            f"{str(file)!r}: expected a trace that can be written, found one that cannot ({error}); "
            "the diagnosis is not kept, copy the file to a folder of yours."
        ) from error


def read_diagnosis(path: AnyPath) -> Diagnosis | None:
    """The diagnosis kept in a trace, or None where there is none yet.

    Raises:
        NotATrace: as read_trace, or a diagnosis that is damaged.
        TraceTooNew: trace or diagnosis were written by a newer version.
    """
    file = Path(path)
    connection = open_read_only(file)
    try:
        row = connection.execute("SELECT schema_version, data FROM diagnosis").fetchone()
    except sqlite3.Error as error:
        raise damaged(file, error) from error
    finally:
        connection.close()
    if row is None:
        return None
    version, text = row
    if version > DIAGNOSIS_SCHEMA:
        raise TraceTooNew(
            f"{str(file)!r}: expected a diagnosis of schema {DIAGNOSIS_SCHEMA} or older, found schema {version}; "
            "upgrade NeuralDBG, or explain the trace again."
        )
    try:
        diagnosis = decode_record(text)
    except (ValueError, TypeError, KeyError) as error:
        raise damaged(file, sqlite3.DatabaseError(f"diagnosis: {error}")) from error
    if not isinstance(diagnosis, Diagnosis):
        raise NotATrace(
            f"{str(file)!r}: expected a diagnosis, found a {type(diagnosis).__name__}; explain the trace again."
        )
    return diagnosis


def write_verification(path: AnyPath, verification: Verification) -> None:
    """Keep an experiment with the trace of the run that it is about, beside earlier ones.

    Raises:
        NotATrace, TraceTooNew: as read_trace.
        TraceError: the file cannot be written.
    """
    file = Path(path)
    try:
        connection = open_for_adding(file)
        try:
            connection.execute(
                "INSERT INTO verifications (schema_version, data) VALUES (?, ?)",
                (DIAGNOSIS_SCHEMA, encode_record(verification)),
            )
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise TraceError(
            f"{str(file)!r}: expected a trace that can be written, found one that cannot ({error}); "
            "the verification is not kept, copy the file to a folder of yours."
        ) from error


def read_verifications(path: AnyPath) -> tuple[Verification, ...]:
    """The experiments kept in a trace, the newest first; of those that a newer version wrote, none.

    Raises:
        NotATrace, TraceTooNew: as read_trace.
    """
    file = Path(path)
    connection = open_read_only(file)
    try:
        rows = connection.execute(
            "SELECT data FROM verifications WHERE schema_version <= ? ORDER BY id DESC", (DIAGNOSIS_SCHEMA,)
        ).fetchall()
        found = tuple(decode_record(text) for (text,) in rows)
    except sqlite3.Error as error:
        raise damaged(file, error) from error
    except (ValueError, TypeError, KeyError) as error:
        raise damaged(file, sqlite3.DatabaseError(f"verification: {error}")) from error
    finally:
        connection.close()
    return tuple(item for item in found if isinstance(item, Verification))


def _meta(connection: sqlite3.Connection) -> dict[str, Any]:
    return {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM meta")}


def _blocks(connection: sqlite3.Connection) -> dict[str, list[Block]]:
    """All observations, as arrays that look straight into what was read."""
    layouts = {
        identifier: np.frombuffer(places, "<i4").astype(np.int64)
        for identifier, places in connection.execute("SELECT id, place_ids FROM layouts")
    }
    names: dict[int, str] = dict(connection.execute("SELECT id, name FROM quantities").fetchall())
    # A slow run commits row by row: its many small blocks are joined as bytes, which is much cheaper than as arrays.
    # Rows of one step keep their order within a layout, not between layouts.
    parts: dict[tuple[int, int], tuple[list[bytes], list[bytes]]] = defaultdict(lambda: ([], []))
    for quantity, layout, step_bytes, numbers in connection.execute(
        "SELECT quantity, layout, steps, numbers FROM blocks ORDER BY id"
    ):
        part = parts[quantity, layout]
        part[0].append(step_bytes)
        part[1].append(numbers)
    blocks: dict[str, list[Block]] = defaultdict(list)
    for (quantity, layout), (all_steps, all_numbers) in parts.items():
        steps = np.frombuffer(b"".join(all_steps), "<i8")
        places = layouts[layout]
        values = np.frombuffer(b"".join(all_numbers), "<f8").reshape(len(steps), len(places))
        blocks[names[quantity]].append(Block(steps, places, values))
        all_numbers.clear()  # else the whole file would be in memory twice
    return dict(blocks)
