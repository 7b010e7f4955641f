"""The live view on a terminal: real runs, three widths, a killed writer, names that are no markup, keys."""

import asyncio
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import threading
import time

import pytest

from helpers.command_line import TRAINING, environment
from helpers.recorded import recorded, write
from neuraldbg.cli import main
from neuraldbg.cli._view_widgets import Page
from neuraldbg.cli._watch_app import WatchApp
from neuraldbg.cli._watcher import Watcher
from neuraldbg.trace_store import TraceWriter
from neuraldbg.trace_store.reader import read_trace

#: Trains by hand at about a thousand steps a second and records what the loop would; says when all is written.
WRITER = """
import sys, time
from neuraldbg.trace_store import TraceWriter
steps, stays = int(sys.argv[2]), len(sys.argv) > 3
writer = TraceWriter(sys.argv[1], {"script": "train.py"})
place, rate = writer.place("loss", "loss"), writer.place("optimizer", "optimizer")
writer.flush()
print("begun", flush=True)
weight, begin = 5.0, time.perf_counter()
for step in range(steps):
    loss = weight * weight
    weight -= 0.001 * 2 * weight
    writer.observe("loss.value", step, [place], [loss])
    writer.observe("optimizer.learning_rate", step, [rate], [0.001])
    time.sleep(max(0.0, begin + (step + 1) / 1000 - time.perf_counter()))
if stays:
    writer.flush()
    print("written", flush=True)
    time.sleep(600)
writer.set_meta("last_step", steps - 1)
writer.close()
print("failure", writer.failure, flush=True)
"""

HOSTILE = ["[red]x[/red]", "\x1b[2J", "<script>"]


def text_of(app):
    """What stands on the screen, line by line."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


def on_screen(watcher, size, steps, every=0.1):
    """Runs the view on a terminal of the size, and ``steps`` in it."""

    async def run():
        app = WatchApp(watcher, every)
        async with app.run_test(size=size) as pilot:
            await steps(app, pilot)
        return app

    return asyncio.run(run())


async def until(app, pilot, condition, seconds=40):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, text_of(app)
        await pilot.pause(0.05)


def writer(path, *arguments):
    command = [sys.executable, "-c", WRITER, str(path), *map(str, arguments)]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    return process


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_run_of_a_thousand_steps_a_second_is_shown_and_loses_no_step(tmp_path, columns):
    path = tmp_path / "run.ndbg"
    seen = []

    async def steps(app, pilot):
        await until(app, pilot, lambda: "steps/s" in text_of(app) or "finished" in text_of(app))
        seen.append(text_of(app))
        await until(app, pilot, lambda: "4,000 steps · finished" in text_of(app) and app._watcher.settled)
        await until(app, pilot, lambda: "Reading what" not in text_of(app))
        seen.append(text_of(app))

    with writer(path, 4000) as process:
        app = on_screen(Watcher(path), (columns, 40), steps)
        out, errors = process.communicate()
    assert out == "failure None\n" and errors == "" and app.return_code in (None, 0)
    assert "locked" not in "".join(seen)
    assert read_trace(path).scalar("loss.value")[0].tolist() == list(range(4000))
    assert "train.py" in seen[0] and "first suspicion" in seen[1] and "learning rate" in seen[1]
    lines = seen[1].splitlines()
    assert max(map(len, lines)) <= columns and re.search("[\u2801-\u28ff]", seen[1])
    words, numbers = (
        next(i for i, line in enumerate(lines) if re.search(f"─ ?{name} ?─", line))
        for name in ("first suspicion", "loss")
    )
    # One column, or two side by side.
    assert (words < numbers) if columns == 40 else (words == numbers)


def test_a_training_script_is_watched_from_its_first_step_to_its_verdict(box):
    box.write("train.py", TRAINING)
    with box.start(["run", "train.py", "1500"]) as process:
        end = time.monotonic() + 120
        while not box.traces():
            assert time.monotonic() < end
            time.sleep(0.1)

        async def steps(app, pilot):
            await until(app, pilot, lambda: "1,500 steps · finished" in text_of(app) and app._watcher.settled, 60)
            await until(app, pilot, lambda: app.moment.diagnosis.steps == 1500)
            assert re.search(r"gradient +[▁▂▃▄▅▆▇█]+", text_of(app))

        on_screen(Watcher(box.traces()[0]), (80, 30), steps)
        out, errors = process.communicate()
    assert process.returncode == 0 and out.startswith("last loss") and "locked" not in errors
    assert read_trace(box.traces()[0]).scalar("loss.value")[0].tolist() == list(range(1500))


def test_a_killed_writer_is_said_to_be_gone(tmp_path):
    path = tmp_path / "run.ndbg"

    async def steps(app, pilot):
        await until(app, pilot, lambda: "300 steps · running" in text_of(app))
        process.send_signal(signal.SIGKILL)
        process.wait()
        await until(app, pilot, lambda: "300 steps · its process has gone" in text_of(app))
        await until(app, pilot, lambda: app._watcher.settled)

    with writer(path, 300, "stays") as process:
        assert process.stdout.readline() == "written\n"
        on_screen(Watcher(path), (80, 30), steps)


def test_a_run_that_stands_still_is_said_to(tmp_path):
    path = tmp_path / "run.ndbg"
    recording = TraceWriter(path, {"script": "train.py"})
    recording.observe("loss.value", 0, [recording.place("loss", "loss")], [1.0])
    recording.flush()
    for name in (path, f"{path}-wal"):
        os.utime(name, (time.time() - 75, time.time() - 75))

    async def steps(app, pilot):
        await until(app, pilot, lambda: re.search(r"1 step · no step for \d+ s", text_of(app)))

    on_screen(Watcher(path), (80, 24), steps)
    recording.close()


def test_a_trace_without_a_step_says_so(tmp_path):
    path = tmp_path / "run.ndbg"
    recording = TraceWriter(path, {"script": "train.py"})
    recording.flush()

    async def steps(app, pilot):
        await until(app, pilot, lambda: "Nothing to judge yet." in text_of(app))
        assert "0 steps · running" in text_of(app) and "No loss was seen yet." in text_of(app)
        assert "No event so far." in text_of(app)

    on_screen(Watcher(path), (80, 24), steps)
    recording.close()


def test_a_missing_file_is_one_line(tmp_path, capsys):
    assert main(["watch", str(tmp_path / "none.ndbg")]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and "found no file" in captured.err


@pytest.mark.parametrize("columns", [40, 100])
def test_names_of_the_model_are_text_and_nothing_else(tmp_path, columns):
    path = write(recorded(HOSTILE, 200, broken_from=100), tmp_path / "run.ndbg")
    seen = []

    def events(app):
        # They stand at the left of a wide terminal.
        left = "\n".join(line[: columns // 2] if columns > 60 else line for line in text_of(app).splitlines())
        return " ".join(re.sub("[│╭╮╰╯─]", " ", left).split())

    async def steps(app, pilot):
        # More events come with the diagnosis than with the first look.
        await until(app, pilot, lambda: "<script>" in events(app) and "[red]x[/red]" in events(app))
        seen.append(events(app))
        await pilot.press("e")
        await until(app, pilot, lambda: "FAILED" in text_of(app))
        seen.append(text_of(app))

    on_screen(Watcher(path), (columns, 60), steps)
    assert all("\x1b" not in text for text in seen)
    assert "<script>" in seen[0] and "[red]x[/red]" in seen[0]


def test_the_keys_pause_explain_help_and_quit(tmp_path):
    path = tmp_path / "run.ndbg"
    recording = TraceWriter(path, {"script": "train.py"})
    place = recording.place("loss", "loss")

    def more(first, last):
        for step in range(first, last):
            recording.observe("loss.value", step, [place], [1.0 / (1 + step)])
        recording.flush()

    async def steps(app, pilot):
        await until(app, pilot, lambda: "10 steps" in text_of(app))
        await pilot.press("p")
        await until(app, pilot, lambda: "PAUSED" in text_of(app))
        more(10, 20)
        await pilot.pause(0.5)
        assert "10 steps" in text_of(app)
        await pilot.press("p")
        await until(app, pilot, lambda: "20 steps" in text_of(app) and "PAUSED" not in text_of(app))
        await until(app, pilot, lambda: app.moment.diagnosis is not None)
        await pilot.press("e")
        await until(app, pilot, lambda: "Nothing failed in" in text_of(app))
        more(20, 30)  # the view goes on behind the page
        await until(app, pilot, lambda: app.moment.steps == 30)
        await pilot.press("q")
        await until(app, pilot, lambda: "30 steps" in text_of(app))
        await pilot.press("question_mark")
        await until(app, pilot, lambda: isinstance(app.screen, Page) and "Ctrl-Z" in text_of(app))
        await pilot.press("escape", "tab")
        assert app.focused is not None
        assert app.return_code is None
        await pilot.press("q")

    more(0, 10)
    assert on_screen(Watcher(path), (80, 30), steps).return_code == 0
    recording.close()


def test_leaving_waits_for_no_look_that_hangs(tmp_path):
    path = tmp_path / "run.ndbg"
    process = writer(path, 200, "stays")
    assert process.stdout.readline() == "written\n"
    hangs, looked = threading.Event(), threading.Event()

    class Hanging(Watcher):
        def look(self):
            looked.set()
            hangs.wait(600)
            return super().look()

    async def leave(app, pilot):
        await until(app, pilot, looked.is_set)
        await pilot.press("q")

    # In a thread, so that a view that waits fails here instead of hanging.
    view = threading.Thread(target=on_screen, args=(Hanging(path), (80, 24), leave), daemon=True)
    view.start()
    view.join(60)
    waited = view.is_alive()
    hangs.set()
    process.kill()
    process.wait()
    assert not waited


def test_a_trace_that_vanishes_is_said_and_the_view_goes_on(tmp_path):
    path = write(recorded(["a"], 50), tmp_path / "run.ndbg")
    watcher = Watcher(path)
    watcher.look()
    path.unlink()

    async def steps(app, pilot):
        await until(app, pilot, lambda: "no such file" in " ".join(re.sub("[│╭╮╰╯─]", " ", text_of(app)).split()))

    on_screen(watcher, (120, 30), steps)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_on_a_terminal_it_is_suspended_comes_back_and_leaves_it_as_it_was(tmp_path):
    path = write(recorded(["a", "b"], 200, broken_from=100), tmp_path / "run.ndbg")
    pid, leader = pty.fork()
    if pid == 0:
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment(TERM="xterm", NO_COLOR="1"))
    said = ""

    def wait_for(pattern, seconds=40):
        nonlocal said
        end = time.monotonic() + seconds
        while not re.search(pattern, said):
            assert time.monotonic() < end, said[-3000:]
            if select.select([leader], [], [], 0.1)[0]:
                said += os.read(leader, 65536).decode("utf-8", "replace")

    def send(text):
        nonlocal said
        said = ""
        os.write(leader, text.encode())

    send("PS1='ready> '; stty -a | md5sum\n")
    wait_for(r"[0-9a-f]{32}")
    before = re.search(r"[0-9a-f]{32}", said)[0]
    send(f"{sys.executable} -m neuraldbg watch {path}; echo code $?\n")
    wait_for("200 steps")
    assert not termios.tcgetattr(leader)[3] & termios.ICANON
    assert not re.search(r"\x1b\[(?:\d+;)*(?:3[0-7]|38|9[0-7])[;m]", said), "NO_COLOR"
    send("\x1a")
    wait_for(r"Stopped")
    assert "\x1b[?1049l" in said and "\x1b[?25h" in said
    send("stty -a | md5sum\n")
    wait_for(r"[0-9a-f]{32}")
    assert before in said
    send("fg\n")
    wait_for(r"\x1b\[\?1049h")
    wait_for("200 steps")
    send("q")
    wait_for(r"200 steps · finished")  # what was seen last stays
    send("stty -a | md5sum; exit\n")
    wait_for(r"[0-9a-f]{32}")
    assert before in said
    os.close(leader)
    os.waitpid(pid, 0)


def test_without_textual_it_is_drawn_by_rich(tmp_path):
    path = write(recorded(["a"], 50), tmp_path / "run.ndbg")
    code = (
        "import sys, importlib.util as u; found = u.find_spec; "
        "u.find_spec = lambda name, *rest: None if name == 'textual' else found(name, *rest); "
        "sys.modules['textual'] = None; sys.stdout.isatty = lambda: True; "
        f"from neuraldbg.cli import main; sys.exit(main(['watch', {json.dumps(str(path))}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(TERM="xterm"), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and "50 steps · finished" in done.stdout, done.stderr
