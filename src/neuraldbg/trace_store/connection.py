"""Opening trace files: for the one writer, for readers beside it, and for adding a diagnosis afterwards."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from pathlib import Path

from neuraldbg.errors import NotATrace
from neuraldbg.trace_store.migrations import FORMAT_VERSION, format_of, migrate

#: Seconds to wait for another process that writes to the same file (a diagnosis being added, say).
BUSY_SECONDS = 10.0


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Create a trace file, or open one to go on with it; the caller is its only recorder.

    Raises:
        sqlite3.Error, OSError: the place cannot be written.
        NotATrace, TraceTooNew: the file exists and is not one that we could continue.
    """
    if path.exists() and path.stat().st_size:
        open_read_only(path).close()
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        # Process killed, at any point: every committed transaction survives, for the kernel has it; what was not yet
        # committed (at most half a second, see writer.py) is lost. Power cut or kernel crash: with synchronous=NORMAL
        # the write-ahead log is forced to disk only at a checkpoint (every 1,000 pages) and in flush(), so the
        # transactions since then may be lost; the file stays whole. FULL would force the disk at every commit and
        # protect against nothing that happens to training runs more often than once in years.
        connection.execute("PRAGMA synchronous = NORMAL")
        # The tables are made before the log is switched on: a file copied without its log is still recognised.
        migrate(connection)
        # WAL: readers see the last commit and never block the writer, nor it them. On a file system without shared
        # memory SQLite keeps its rollback journal instead, with the same guarantees but readers that may wait.
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA journal_size_limit = 16000000")
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_adding(path: Path) -> sqlite3.Connection:
    """Open an existing trace to add to it; recovers the log of a killed writer.

    Raises:
        sqlite3.Error: it cannot be written.
        NotATrace, TraceTooNew: as open_read_only.
    """
    open_read_only(path).close()
    connection = sqlite3.connect(_address(path, "mode=rw"), uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open a trace to read it, without changing it.

    Works beside a live writer (which never waits for us), on the trace of a killed one (its last transactions are in a
    ``-wal`` file beside it), and in a folder that cannot be written. A file of an older format is read through a copy
    in memory that is brought to the present one.

    Raises:
        NotATrace: missing, a folder, empty, foreign, unreadable or damaged.
        TraceTooNew: written by a newer version.
    """
    _check_there(path)
    # The file itself is only ever touched through SQLite: closing a second descriptor of a file drops all locks that
    # this process holds on it (POSIX), and the writer may live in this process.
    try:
        connection = _open_and_touch(path)
        if format_of(connection, path) < FORMAT_VERSION:
            connection = _into_memory(connection)
            migrate(connection)
        connection.execute("PRAGMA query_only = 1")
    except sqlite3.Error as error:
        raise damaged(path, error) from error
    except OSError as error:
        raise NotATrace(
            f"{str(path)!r}: expected a readable trace, found {error.strerror or error}; "
            "check the permissions of the file and its folder."
        ) from error
    return connection


def damaged(path: Path, error: sqlite3.Error) -> NotATrace:
    """The error for a file that SQLite cannot read, in our words."""
    if "not a database" in str(error):
        found = "a file of another kind"
        advice = "name a file that ends in .ndbg."
    elif isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
        found = f"a file that cannot be opened ({error})"
        advice = "check its permissions and that the disk is not full."
    else:
        found = f"a truncated or damaged one ({error})"
        advice = "copy it again together with the -wal file beside it, or record the run again."
    return NotATrace(f"{str(path)!r}: expected a NeuralDBG trace, found {found}; {advice}")


def _check_there(path: Path) -> None:
    try:
        status = path.stat()
    except OSError as error:
        found = "no such file" if isinstance(error, FileNotFoundError) else str(error.strerror or error)
        raise NotATrace(
            f"{str(path)!r}: expected a NeuralDBG trace, found {found}; check the path, or run neuraldbg list."
        ) from error
    except ValueError as error:
        raise NotATrace(f"{str(path)!r}: expected the path of a trace, found {error}; check the path.") from error
    if path.is_dir():
        raise NotATrace(f"{str(path)!r}: expected a NeuralDBG trace, found a folder; name a .ndbg file inside it.")
    if status.st_size == 0:
        raise NotATrace(
            f"{str(path)!r}: expected a NeuralDBG trace, found an empty file; "
            "the recording ended before its start was written, record the run again."
        )


def _address(path: Path, query: str) -> str:
    return f"{path.absolute().as_uri()}?{query}"


def _open_and_touch(path: Path) -> sqlite3.Connection:
    """A connection that has been shown to read: SQLite looks at the file only at the first statement."""
    try:
        return _touched(_address(path, "mode=ro"))
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise
    # SQLite reads a log only with an index of it beside, which it cannot make in a folder that is read-only or full.
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        with tempfile.TemporaryDirectory(prefix="neuraldbg-") as folder:
            copy = Path(folder) / "copy.ndbg"
            shutil.copyfile(path, copy)
            shutil.copyfile(log, copy.with_name(copy.name + "-wal"))
            return _into_memory(_touched(_address(copy, "mode=ro")))
    # No log: nobody writes, and the file is all there is.
    return _touched(_address(path, "mode=ro&immutable=1"))


def _touched(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _into_memory(connection: sqlite3.Connection) -> sqlite3.Connection:
    memory = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.backup(memory)
    finally:
        connection.close()
    return memory
