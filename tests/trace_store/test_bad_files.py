"""Files that are not traces, or not any more, or not yet."""

import sqlite3
from pathlib import Path

import pytest

from neuraldbg.errors import NotATrace, TraceError, TraceTooNew
from neuraldbg.records import Diagnosis
from neuraldbg.trace_store import TraceWriter, read_diagnosis, read_trace, summary, write_diagnosis
from neuraldbg.trace_store.migrations import FORMAT_VERSION, MIGRATIONS, migrate

READERS = [read_trace, summary, read_diagnosis, lambda path: write_diagnosis(path, Diagnosis("healthy", "", 0))]


@pytest.fixture
def trace(tmp_path) -> Path:
    writer = TraceWriter(tmp_path / "run.ndbg", {})
    places = tuple(writer.place("module", f"layer{i}") for i in range(100))
    for step in range(500):
        writer.observe("value", step, places, [float(step)] * 100)
    writer.close()
    return writer.path


def check(path: Path, found: str, error: type[TraceError] = NotATrace) -> None:
    """Every reader raises, on one line that names the file, what was expected, what was found and what to do."""
    for read in READERS:
        with pytest.raises(error) as caught:
            read(path)
        message = str(caught.value)
        assert repr(str(path)) in message
        assert "expected a" in message
        assert found in message
        assert ";" in message
        assert "\n" not in message


def test_missing(tmp_path):
    check(tmp_path / "none.ndbg", "no such file")


def test_a_folder(tmp_path):
    check(tmp_path, "a folder")


def test_empty(tmp_path):
    path = tmp_path / "run.ndbg"
    path.touch()
    check(path, "an empty file")


@pytest.mark.parametrize("content", [b"x", b"step,loss\n0,1.0\n" * 400, bytes(10_000)])
def test_another_kind_of_file(tmp_path, content):
    path = tmp_path / "run.ndbg"
    path.write_bytes(content)
    check(path, "a file of another kind")
    assert path.read_bytes() == content


def test_the_database_of_another_program(tmp_path):
    path = tmp_path / "run.ndbg"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE places (id)")
    connection.close()
    content = path.read_bytes()
    check(path, "a file of another kind")
    with pytest.warns(RuntimeWarning, match="another kind"):
        TraceWriter(path, {}).close()
    assert path.read_bytes() == content


@pytest.mark.parametrize("share", [0.001, 0.02, 0.5, 0.99])
def test_truncated(trace, share):
    content = trace.read_bytes()
    trace.write_bytes(content[: int(len(content) * share)])
    for read in (read_trace, lambda path: write_diagnosis(path, Diagnosis("healthy", "", 0))):
        with pytest.raises(NotATrace, match="expected a NeuralDBG trace, found a"):
            read(trace)


def test_overwritten_in_the_middle(trace):
    content = bytearray(trace.read_bytes())
    content[4096 : len(content) // 2] = b"\xff" * (len(content) // 2 - 4096)
    trace.write_bytes(content)
    with pytest.raises(NotATrace, match="expected a NeuralDBG trace, found a"):
        read_trace(trace)


def test_a_newer_format(trace):
    connection = sqlite3.connect(trace)
    connection.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    connection.close()
    check(trace, f"found format {FORMAT_VERSION + 1}", TraceTooNew)
    with pytest.warns(RuntimeWarning, match="found format"):
        TraceWriter(trace, {}).close()


def test_a_newer_diagnosis(trace):
    write_diagnosis(trace, Diagnosis("healthy", "", 0))
    connection = sqlite3.connect(trace)
    connection.execute("UPDATE diagnosis SET schema_version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(TraceTooNew, match="found schema 99"):
        read_diagnosis(trace)
    assert read_trace(trace).last_step == 499


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION))
def test_an_older_format_is_read_as_it_is_and_brought_up_to_date_when_it_is_written(tmp_path, version):
    path = tmp_path / "run.ndbg"
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, version)
    connection.execute("INSERT INTO meta VALUES ('last_step', '4')")
    connection.close()
    content = path.read_bytes()
    assert read_trace(path).last_step == 4
    assert read_diagnosis(path) is None
    assert path.read_bytes() == content
    write_diagnosis(path, Diagnosis("healthy", "fine", 5))
    assert read_diagnosis(path).summary == "fine"
    assert summary(path)["last_step"] == 4


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    connection = sqlite3.connect(tmp_path / "run.ndbg", isolation_level=None)
    migrate(connection, 1)
    monkeypatch.setattr(
        "neuraldbg.trace_store.migrations.MIGRATIONS", (MIGRATIONS[0], ("CREATE TABLE a (b)", "nonsense"))
    )
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, 2)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'a'").fetchall()


def test_a_file_copied_without_its_log_is_still_a_trace(tmp_path):
    writer = TraceWriter(tmp_path / "run.ndbg", {})
    writer.observe("value", 3, (writer.place("loss", "loss"),), (1.0,))
    copy = tmp_path / "copy.ndbg"
    copy.write_bytes(writer.path.read_bytes())
    writer.close()
    assert read_trace(copy).last_step == -1
