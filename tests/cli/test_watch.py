"""Watching: beside a writer that is never delayed, after one that was killed, on a narrow terminal."""

import signal
import subprocess
import sys
import time

from helpers.command_line import environment
from helpers.recorded import recorded, write
from neuraldbg.cli import main
from neuraldbg.cli._watcher import Watcher
from neuraldbg.trace_store import TraceWriter
from neuraldbg.trace_store.tail import Tail

WRITER = """
import sys, time
from neuraldbg.trace_store import TraceWriter
writer = TraceWriter(sys.argv[1], {"script": "train.py"})
place = writer.place("loss", "loss")
for step in range(300):
    writer.observe("loss.value", step, [place], [1.0 / (1 + step)])
writer.flush()
print("written", flush=True)
time.sleep(600)
"""


def test_a_look_reads_only_what_is_new(tmp_path):
    path = tmp_path / "run.ndbg"
    writer = TraceWriter(path, {"script": "train.py"})
    place = writer.place("loss", "loss")
    tail = Tail(path, ("loss.value",))
    writer.flush()
    assert tail.look() is False and tail.last_step == -1
    for step in range(100):
        writer.observe("loss.value", step, [place], [float(step)])
        writer.observe("other", step, [place], [0.0])
        if step == 49:
            writer.flush()
            assert tail.look() is True and tail.last_step == 49
    writer.close()
    assert tail.look() is True and tail.look() is False
    assert tail.steps == {"loss.value": list(range(100))} and tail.values["loss.value"][-1] == 99.0


def test_a_long_curve_is_thinned_and_keeps_its_ends(tmp_path):
    tail = Tail(write(recorded(["a"], 2000), tmp_path / "run.ndbg"), ("loss.value",))
    tail.MOST_POINTS = 100
    tail.look()
    assert len(tail.values["loss.value"]) <= 100
    assert (tail.steps["loss.value"][0], tail.steps["loss.value"][-1]) == (0, 1999)


def test_a_writer_of_a_thousand_steps_a_second_is_not_delayed(tmp_path):
    path = tmp_path / "run.ndbg"
    writer = TraceWriter(path, {"script": "train.py"})
    place = writer.place("loss", "loss")
    writer.flush()
    watcher, longest, last, step = Watcher(path), 0.0, -1, 0
    begin = time.perf_counter()
    while step < 2000:
        before = time.thread_time()
        writer.observe("loss.value", step, [place], [2.0 - step / 2000])
        longest = max(longest, time.thread_time() - before)
        step += 1
        if step % 250 == 0:
            moment = watcher.look()
            assert moment.state == "running" and moment.steps >= last
            last = moment.steps
        time.sleep(max(0.0, begin + step / 1000 - time.perf_counter()))
    writer.close()
    assert longest < 0.05
    moment = watcher.look(wait=True)
    assert moment.steps == 2000 and moment.diagnosis is not None and "loss" in moment.curves


def test_a_killed_run_is_said_to_be_gone(tmp_path, capsys):
    path = tmp_path / "run.ndbg"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "written\n"
        assert Watcher(path).look().state == "running"
        process.send_signal(signal.SIGKILL)
    assert main(["watch", str(path)]) == 0
    out = capsys.readouterr().out
    assert "train.py · 300 steps · its process has gone" in out and "loss  █" in out
