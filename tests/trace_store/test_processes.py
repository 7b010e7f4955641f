"""Readers beside a live writer; forked and spawned children."""

import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import neuraldbg
from neuraldbg.trace_store import TraceWriter, read_trace, summary

SOURCE = str(Path(neuraldbg.__file__).parents[1])


def run_script(folder: Path, code: str) -> subprocess.CompletedProcess:
    script = folder / "script.py"
    script.write_text(textwrap.dedent(code))
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.run(
        [sys.executable, str(script)], cwd=folder, env=environment, text=True, capture_output=True, timeout=60
    )


def test_reading_beside_a_writer_of_the_same_process(tmp_path):
    writer = TraceWriter(tmp_path / "run.ndbg", {})
    places = tuple(writer.place("module", f"layer{i}") for i in range(50))
    stop = threading.Event()

    def write() -> None:
        step = 0
        while not stop.is_set():
            writer.observe("value", step, places, (float(step),) * 50)
            step += 1
            time.sleep(0.0002)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        seen, end = [], time.monotonic() + 2.5
        while time.monotonic() < end:
            trace = read_trace(writer.path)
            seen.append(trace.last_step)
            steps, values = trace.scalar("value", "layer49")
            assert steps.tolist() == list(range(trace.last_step + 1)) == values.tolist()
    finally:
        stop.set()
        thread.join()
    writer.close()
    assert writer.failure is None
    assert seen == sorted(seen)
    assert len(set(seen)) >= 4  # each commit is visible, there are at least two a second


def test_a_reader_in_the_middle_of_reading_does_not_hold_up_the_writer(tmp_path):
    from neuraldbg.trace_store.connection import open_read_only

    writer = TraceWriter(tmp_path / "run.ndbg", {})
    places = (writer.place("loss", "loss"),)
    writer.observe("value", 0, places, (1.0,))
    writer.flush()
    reader = open_read_only(writer.path)
    reader.execute("BEGIN")
    before = reader.execute("SELECT count(*) FROM blocks").fetchone()
    writer.observe("value", 1, places, (1.0,))
    begin = time.monotonic()
    writer.flush()
    writer.close()
    assert time.monotonic() - begin < 2
    assert writer.failure is None
    assert reader.execute("SELECT count(*) FROM blocks").fetchone() == before
    reader.close()
    assert read_trace(writer.path).last_step == 1


def test_forked_children_write_nothing_and_end_quietly(tmp_path):
    result = run_script(
        tmp_path,
        """
        import os, sys, time
        from neuraldbg.trace_store import TraceWriter
        writer = TraceWriter("run.ndbg", {})
        places = (writer.place("loss", "loss"),)
        children = []
        for step in range(30):
            for _ in range(50):  # so that the thread is busy at the fork
                writer.observe("value", step, places, (1.0,))
            writer._wake.set()
            child = os.fork()
            if child == 0:
                writer.observe("value", 1000, places, (2.0,))
                writer.fact("from the child", 0, None, {})
                assert writer.place("loss", "loss") == 0
                writer.place("module", "only in the child")
                writer.flush()
                if step % 2:
                    writer.close()
                del writer
                sys.exit(0)  # the whole way out: exit handlers, destruction of modules
            children.append(child)
        for child in children:
            assert os.waitpid(child, 0)[1] == 0
        writer.observe("value", 30, places, (1.0,))
        """,
    )
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    assert "Traceback" not in result.stderr
    trace = read_trace(tmp_path / "run.ndbg")
    steps, _ = trace.scalar("value")
    assert len(steps) == 30 * 50 + 1
    assert trace.last_step == 30  # also: closed by itself when the interpreter ended
    assert trace.meta["finished"]
    assert [place.name for place in trace.places] == ["loss"]
    assert not trace.facts("from the child")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["run.ndbg", "script.py"]


def test_a_spawned_child_that_imports_the_script_again_opens_nothing(tmp_path):
    result = run_script(
        tmp_path,
        """
        import multiprocessing
        from neuraldbg.trace_store import TraceWriter, new_trace_path
        writer = TraceWriter(new_trace_path(__file__), {})  # no guard: the child comes by here as well
        writer.observe("value", 0, (writer.place("loss", "loss"),), (1.0,))

        def work(inherited):
            inherited.observe("value", 9, (0,), (1.0,))
            inherited.flush()
            inherited.close()

        if __name__ == "__main__":
            child = multiprocessing.get_context("spawn").Process(target=work, args=(writer,))
            child.start()
            child.join()
            assert child.exitcode == 0
        """,
    )
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / ".neuraldbg").glob("*.ndbg*")
    assert read_trace(path).last_step == 0


def test_a_pickled_writer_is_inert(tmp_path):
    writer = TraceWriter(tmp_path / "run.ndbg", {})
    copy = pickle.loads(pickle.dumps(writer))
    copy.observe("value", 3, (copy.place("loss", "loss"),), (1.0,))
    copy.flush()
    copy.close()
    writer.close()
    assert copy.path == writer.path
    assert read_trace(writer.path).last_step == -1


@pytest.mark.parametrize("ending", ["", "raise ValueError('in the loop')", "sys.exit(3)", "os.kill(os.getpid(), 2)"])
def test_every_ordinary_end_of_the_interpreter_closes_the_trace(tmp_path, ending):
    result = run_script(
        tmp_path,
        f"""
        import os, sys
        from neuraldbg.trace_store import TraceWriter
        writer = TraceWriter("run.ndbg", {{}})
        writer.observe("value", 7, (writer.place("loss", "loss"),), (1.0,))
        {ending}
        """,
    )
    assert "neuraldbg" not in result.stderr
    assert summary(tmp_path / "run.ndbg")["last_step"] == 7
    assert summary(tmp_path / "run.ndbg")["finished"]
