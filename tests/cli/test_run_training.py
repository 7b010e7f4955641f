"""``neuraldbg run`` on scripts that train and know nothing of it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from helpers.command_line import TRAINING, Box, environment

AsPython = Callable[..., tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]]

FINGERPRINT = """
import hashlib
blob = b"".join(p.detach().numpy().tobytes() for p in model.parameters()) + torch.get_rng_state().numpy().tobytes()
print(hashlib.sha256(blob).hexdigest())
"""


def trace_line(errors: str) -> str:
    """The path that was printed last."""
    return next(line for line in reversed(errors.splitlines()) if line.startswith("Trace: ")).removeprefix("Trace: ")


def test_a_run_that_trains_is_the_same_run_and_gets_a_verdict(box: Box, as_python: AsPython) -> None:
    box.write("train.py", TRAINING + FINGERPRINT)
    _, watched = as_python("train.py", "60")
    assert "Nothing failed in 60 steps" in watched.stderr
    assert (box.folder / trace_line(watched.stderr)).is_file()


def test_a_module_that_trains_is_found_too(box: Box, as_python: AsPython) -> None:
    box.write("package/train.py", TRAINING)
    _, watched = as_python("-m", "package.train", "60")
    assert "Nothing failed in 60 steps" in watched.stderr


def test_a_failure_is_explained_and_the_exit_code_is_the_scripts(box: Box, as_python: AsPython) -> None:
    box.write("train.py", TRAINING + "sys.exit(7)\n")
    plain, watched = as_python("train.py", "60", "10")
    assert plain.returncode == 7
    assert watched.stderr.index("FAILED") < watched.stderr.index("WHY") < watched.stderr.index("DO")
    assert "train.py · 60 steps" in watched.stderr


def test_an_exception_comes_first_then_the_verdict(box: Box) -> None:
    box.write("train.py", TRAINING + "model(torch.zeros(3, 4))\n")
    plain = box.python("train.py", "40")
    watched = box.neuraldbg("run", "train.py", "40")
    assert (watched.returncode, watched.stdout) == (plain.returncode, plain.stdout)
    # The lines inside of torch differ: it calls a module by another way as soon as anybody listens. The
    # user's own lines and the error are the same.
    shown, _, rest = watched.stderr.partition("\nRuntimeError: ")
    assert [line for line in shown.splitlines() if "train.py" in line] == [
        line for line in plain.stderr.splitlines() if "train.py" in line
    ]
    assert rest.splitlines()[0] == plain.stderr.splitlines()[-1].removeprefix("RuntimeError: ")
    assert rest.index("40 steps") < rest.index("Trace: ")


def test_an_interrupt_comes_first_then_the_verdict(box: Box) -> None:
    box.write("train.py", TRAINING + "print('ready', flush=True)\nwhile True:\n    step()\n    time.sleep(0.01)\n")
    process = box.start(["run", "train.py", "40"])
    assert process.stdout is not None
    process.stdout.readline()
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert errors.index("KeyboardInterrupt") < errors.index(" steps") < errors.index("Trace: ")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_trace_of_a_killed_run_is_explained(box: Box, number: signal.Signals) -> None:
    box.write("train.py", TRAINING + "time.sleep(1.5)\nprint('ready', flush=True)\ntime.sleep(60)\n")
    process = box.start(["run", "train.py", "60"])
    assert process.stdout is not None
    process.stdout.readline()
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == -number
    (trace,) = box.traces()
    explained = box.neuraldbg("explain", str(trace))
    assert explained.returncode == 0, explained.stderr
    assert "Nothing failed in 60 steps" in explained.stdout


def test_a_script_with_a_block_of_its_own_runs_as_it_does_without_us(box: Box, as_python: AsPython) -> None:
    inner = TRAINING.replace(
        "for i in", "from neuraldbg import NeuralDbg\nwith NeuralDbg(model) as debugger:\n  for i in"
    )
    inner = inner.replace("    loss = step()", "      loss = step()")
    box.write("train.py", inner + "print(debugger.diagnosis().steps, debugger.diagnosis().outcome)\n" + FINGERPRINT)
    plain, watched = as_python("train.py", "60")
    assert "60 healthy" in plain.stdout
    assert "Nothing failed in 60 steps" in watched.stderr


def test_the_verdict_of_a_script_that_never_trains_is_a_sentence_and_a_path(box: Box, as_python: AsPython) -> None:
    box.write("train.py", "import torch\nprint(torch.ones(2).sum().item())\n")
    _, watched = as_python("train.py")
    assert watched.stderr.strip().startswith("Nothing ") and len(watched.stderr.strip().splitlines()) <= 4
    assert trace_line(watched.stderr)


def test_a_folder_that_cannot_be_written_changes_nothing_for_the_script(box: Box) -> None:
    box.write("train.py", TRAINING)
    box.write("occupied", "a file where the folder should be")
    done = box.neuraldbg("run", "train.py", "40", NEURALDBG_DIR=str(box.folder / "occupied"))
    assert done.returncode == 0 and "last loss" in done.stdout


def test_a_terminal_gets_colour(box: Box) -> None:
    box.write("train.py", TRAINING)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "neuraldbg", "run", "train.py", "60", "10"],
        cwd=box.folder,
        env=environment(TERM="xterm-256color", COLUMNS="80"),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # the other end was closed
        pass
    os.close(ours)
    assert process.wait(timeout=60) == 0
    assert b"\x1b[1;31mFAILED" in shown
