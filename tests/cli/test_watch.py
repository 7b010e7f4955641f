"""Watching: beside a writer that is never delayed, after one that was killed, on a narrow terminal."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from helpers.command_line import environment
from helpers.recorded import recorded, write
from neuraldbg.cli import main
from neuraldbg.cli.watch import Watcher
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


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_on_a_terminal_of_forty_columns(tmp_path):
    path = write(
        recorded(["encoder.layers.0.self_attention.output_projection", "b"], 200, broken_from=100), tmp_path / "a.ndbg"
    )
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    command = [sys.executable, "-m", "neuraldbg", "watch", str(path)]
    settings = environment(TERM="xterm", NO_COLOR="1")
    with subprocess.Popen(command, env=settings, stdin=follower, stdout=follower, stderr=follower) as process:
        os.close(follower)
        seen = b""
        while True:
            try:
                piece = os.read(leader, 4096)
            except OSError:
                break
            if not piece:
                break
            seen += piece
    os.close(leader)
    assert process.returncode == 0
    # Every move of the cursor begins a new line.
    lines = re.split(r"(?:\x1b\[[0-9;?]*[A-Za-z]|[\r\n])+", seen.decode("utf-8"))
    assert max(map(len, lines)) <= 40
    assert any(line.startswith("a.py") or "200 steps" in line for line in lines)
