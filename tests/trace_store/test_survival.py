"""The trace survives its process, and the process survives its trace."""

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import neuraldbg
from neuraldbg.records import Diagnosis
from neuraldbg.trace_store import TraceWriter, read_diagnosis, read_trace, write_diagnosis

SOURCE = str(Path(neuraldbg.__file__).parents[1])


def start(code: str, *arguments: object, **options) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": SOURCE, "PYTHONWARNINGS": "default"}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


ENDLESS = """
    import sys, time
    from neuraldbg.trace_store import TraceWriter
    writer = TraceWriter(sys.argv[1], {"script": "endless.py"})
    places = tuple(writer.place("module", f"layer{i}") for i in range(20))
    step = 0
    while True:
        writer.observe("module.output_std", step, places, [float(step)] * 20)
        print(step, time.monotonic(), flush=True)
        step += 1
        time.sleep(0.001)
"""


def kill_while_it_writes(path: Path, seconds: float = 2.2) -> tuple[int, int]:
    """SIGKILL a writing process; the last step of all, and the last one at least a second before the kill."""
    process = start(ENDLESS, path)
    lines = [process.stdout.readline()]
    first = time.monotonic()
    while time.monotonic() < first + seconds:
        lines.append(process.stdout.readline())
    killed = time.monotonic()
    process.send_signal(signal.SIGKILL)
    lines.extend(process.stdout.read().splitlines())
    process.wait()
    told = [line.split() for line in lines if len(line.split()) == 2]
    return int(told[-1][0]), max(int(step) for step, moment in told if float(moment) <= killed - 1)


def test_sigkill_loses_at_most_the_last_second(tmp_path):
    path = tmp_path / "run.ndbg"
    last, safe = kill_while_it_writes(path)
    trace = read_trace(path)
    assert safe > 100
    assert safe <= trace.last_step <= last
    steps, values = trace.scalar("module.output_std", "layer7")
    assert steps.tolist() == list(range(trace.last_step + 1))
    assert values.tolist() == steps.tolist()
    assert trace.meta["finished"] is None
    # Reading changed nothing, and a diagnosis can be added to what the dead process left.
    write_diagnosis(path, Diagnosis("failed", "killed", trace.steps))
    assert read_diagnosis(path).summary == "killed"
    assert read_trace(path).last_step == trace.last_step


@pytest.mark.parametrize("with_index", [True, False])
def test_a_killed_trace_in_a_folder_that_cannot_be_written(tmp_path, with_index):
    path = tmp_path / "run.ndbg"
    _, safe = kill_while_it_writes(path, 1.5)
    assert path.with_name("run.ndbg-wal").stat().st_size
    if not with_index:
        path.with_name("run.ndbg-shm").unlink()
    check_without_write_access(tmp_path, path, safe)


def test_a_finished_trace_in_a_folder_that_cannot_be_written(tmp_path):
    writer = TraceWriter(tmp_path / "run.ndbg", {})
    writer.observe("value", 5, (writer.place("loss", "loss"),), (1.0,))
    writer.close()
    check_without_write_access(tmp_path, writer.path, 5)


def check_without_write_access(folder: Path, path: Path, least_step: int) -> None:
    """Read the trace in a child that has no right to write to the folder, which stays as it was."""
    # Root may write anywhere: the child becomes another user, who must be able to reach the folder.
    open_folder = Path("/tmp") / f"neuraldbg-test-{os.getpid()}"
    shutil.copytree(folder, open_folder)
    try:
        for entry in open_folder.iterdir():
            entry.chmod(0o444)
        open_folder.chmod(0o555)
        before = sorted(entry.name for entry in open_folder.iterdir())
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if os.getuid() == 0:
                    os.setuid(65534)
                assert not os.access(open_folder, os.W_OK)
                assert read_trace(open_folder / path.name).last_step >= least_step
                code = 0
            except BaseException as error:
                print(repr(error), file=sys.stderr)
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert sorted(entry.name for entry in open_folder.iterdir()) == before
    finally:
        open_folder.chmod(0o755)
        shutil.rmtree(open_folder)


FILLING = """
    import sys, time, warnings
    from neuraldbg.trace_store import TraceWriter, read_trace
    writer = TraceWriter(sys.argv[1], {})
    places = tuple(writer.place("module", f"layer{i}") for i in range(500))
    step = 0
    while writer.failure is None and step < 5000:
        writer.observe("module.output_std", step, places, [float(step)] * 500)
        step += 1
        if step % 20 == 0:
            writer.flush()
    slowest = 0.0
    for step in range(step, step + 1000):
        begin = time.perf_counter()
        writer.observe("module.output_std", step, places, [0.0] * 500)
        slowest = max(slowest, time.perf_counter() - begin)
    writer.flush(); writer.fact("x", 0, None, {}); writer.set_meta("a", 1); writer.close(); writer.close()
    print(writer.failure)
    print(read_trace(sys.argv[1]).last_step)
"""


def check_that_training_outlives_it(process: subprocess.Popen, reason: str) -> None:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    failure, last_step = out.splitlines()
    assert reason in failure
    assert int(last_step) > 20  # what was there before the disk was full can be read, on the full disk
    assert err.count("RuntimeWarning: NeuralDBG: the trace is not recorded any further") == 1
    assert "Traceback" not in err


def test_a_file_that_may_not_grow_stops_the_recording_only(tmp_path):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))

    process = start(FILLING, tmp_path / "run.ndbg", preexec_fn=limit)
    check_that_training_outlives_it(process, "disk")


def test_a_full_disk_stops_the_recording_only(tmp_path):
    mounted = (
        os.getuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(tmp_path)], capture_output=True
        ).returncode
    )
    if not mounted:
        pytest.skip("needs the right to mount a small file system; the file size limit above stands in for it")
    try:
        check_that_training_outlives_it(start(FILLING, tmp_path / "run.ndbg"), "full")
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_a_deleted_folder_stops_the_recording_only(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    writer = TraceWriter(folder / "run.ndbg", {})
    writer.observe("value", 0, (writer.place("loss", "loss"),), (1.0,))
    writer.flush()
    shutil.rmtree(folder)
    with pytest.warns(RuntimeWarning, match="deleted") as caught:
        writer.observe("value", 1, (0,), (1.0,))
        writer.flush()
        writer.close()
    assert "was deleted" in writer.failure
    assert len(caught) == 1
    assert not folder.exists()


@pytest.mark.parametrize("name", ["missing/run.ndbg", "folder", "text.txt"])
def test_a_path_that_cannot_be_a_trace_stops_the_recording_only(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.txt").write_text("precious")
    with pytest.warns(RuntimeWarning, match="training goes on"):
        writer = TraceWriter(tmp_path / name, {})
    writer.observe("value", 0, (writer.place("loss", "loss"),), (1.0,))
    writer.flush()
    writer.close()
    assert writer.failure
    assert (tmp_path / "text.txt").read_text() == "precious"


def test_warnings_turned_into_errors_do_not_raise(tmp_path, recwarn, capsys):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        writer = TraceWriter(tmp_path / "missing" / "run.ndbg", {})
    assert writer.failure
    assert "training goes on" in capsys.readouterr().err


def test_a_lock_held_by_another_program_does_not_hold_up_the_loop(tmp_path):
    writer = TraceWriter(tmp_path / "run.ndbg", {})
    places = (writer.place("loss", "loss"),)
    writer.flush()
    other = sqlite3.connect(writer.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    begin = time.perf_counter()
    for step in range(10_000):
        writer.observe("value", step, places, (1.0,))
    assert time.perf_counter() - begin < 0.5
    time.sleep(0.7)  # long enough for the thread to meet the lock
    other.execute("ROLLBACK")
    other.close()
    writer.close()
    assert writer.failure is None
    assert len(read_trace(writer.path).scalar("value")[0]) == 10_000
