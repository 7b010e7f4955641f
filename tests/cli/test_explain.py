"""``neuraldbg explain``: from the file alone, or from a rule's docstring."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from helpers.command_line import SOURCE, TRAINING, Box
from neuraldbg.cli._rules import HEADINGS, names, near, page
from neuraldbg.records import EVENT_TYPES, FAILURE_TYPES


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Box:
    """A folder with the traces of a run that trained and of one that did not: well.ndbg and ill.ndbg."""
    box = Box(tmp_path_factory.mktemp("runs"))
    box.write("train.py", TRAINING)
    for name, rate in (("well", "0.05"), ("ill", "10")):
        assert box.neuraldbg("run", "train.py", "60", rate).returncode == 0
        box.traces()[-1].rename(box.folder / f"{name}.ndbg")
    return box


def without_torch(box: Box, *arguments: str) -> tuple[int, str, str]:
    """Explains where importing torch is an error."""
    box.write("blocked/torch/__init__.py", "raise ImportError('torch is blocked')")
    done = box.python("-m", "neuraldbg", *arguments, PYTHONPATH=f"{box.folder / 'blocked'}:{SOURCE}")
    return done.returncode, done.stdout, done.stderr


def test_the_exit_code_tells_a_failure_from_none_without_torch(runs: Box) -> None:
    code, output, errors = without_torch(runs, "explain", "well.ndbg")
    assert (code, errors) == (0, "") and output.startswith("Nothing failed in 60 steps")
    code, output, errors = without_torch(runs, "explain", "ill.ndbg")
    assert (code, errors) == (1, "") and "FAILED" in output and "WHY" in output
    assert max(len(line) for line in output.splitlines()) <= 80


def test_json_holds_the_whole_diagnosis(runs: Box) -> None:
    code, output, _ = without_torch(runs, "explain", "ill.ndbg", "--json")
    value = json.loads(output, parse_constant=lambda constant: pytest.fail(constant))
    assert code == 1
    assert value["schema_version"] == 1 and value["trace"] == "ill.ndbg"
    assert value["outcome"] == "failed" and value["steps"] == 60 and value["hypotheses"]
    assert output == without_torch(runs, "explain", "--json", "ill.ndbg")[1]


def test_verbose_adds_findings_and_curves(runs: Box) -> None:
    code, output, _ = without_torch(runs, "explain", "--verbose", "ill.ndbg")
    assert code == 1
    for label in ("CURVES", "ASKED", "RUN"):
        assert any(line.startswith(label) for line in output.splitlines())


def test_without_a_name_the_newest_trace_here_is_explained(box: Box) -> None:
    assert box.neuraldbg("explain").returncode == 2
    box.write("train.py", TRAINING)
    box.neuraldbg("run", "train.py", "60")
    done = box.neuraldbg("explain")
    assert done.returncode == 0 and "60 steps" in done.stdout


def test_a_run_that_goes_on_is_explained_so_far(box: Box) -> None:
    box.write("train.py", TRAINING + "time.sleep(1.5)\nprint('ready', flush=True)\ntime.sleep(60)\n")
    process = box.start(["run", "train.py", "60"])
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.readline()
    try:
        done = box.neuraldbg("explain")
        assert done.returncode == 0 and "The run goes on" in done.stdout and "60 steps" in done.stdout
        assert "running" in box.neuraldbg("list").stdout
        assert "kept" in box.neuraldbg("clean").stdout and len(box.traces()) == 1
    finally:
        process.kill()
        process.communicate(timeout=30)


@pytest.mark.parametrize("kind", ["missing", "foreign", "empty", "folder", "cut", "binary name"])
def test_what_cannot_be_read_is_one_line_and_code_2(runs: Box, tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("x\x1b[31m.ndbg" if kind == "binary name" else "x.ndbg")
    if kind == "foreign":
        path.write_text("not a trace, and long enough to be taken for one " * 50, encoding="utf-8")
    elif kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "cut":
        path.write_bytes((runs.folder / "ill.ndbg").read_bytes()[:5000])
    done = runs.neuraldbg("explain", str(path))
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and "Traceback" not in done.stderr and "\x1b" not in done.stderr


def test_every_cause_and_event_has_a_page(box: Box) -> None:
    assert {"dying_relu", *EVENT_TYPES, *FAILURE_TYPES} <= set(names())
    for name in names():
        shown = page(name)
        assert shown is not None and (shown.summary or shown.body), name
    code, output, _ = without_torch(box, "explain", "redundant_softmax")
    assert code == 0 and output.startswith("redundant_softmax   cause")
    assert any(line.strip().lower() in HEADINGS for line in output.splitlines())
    assert max(len(line) for line in output.splitlines()) <= 80


def test_an_unknown_name_lists_those_near_to_it(box: Box) -> None:
    done = box.neuraldbg("explain", "dead_relu")
    assert done.returncode == 2 and "dying_relu" in done.stderr and len(done.stderr.splitlines()) == 1
    assert "redundant_softmax" in near("softmax") and "learning_rate_too_high" in near("learning-rate")
    done = box.neuraldbg("explain", "zzz")
    assert done.returncode == 2 and "neuraldbg list" in done.stderr


def test_a_trace_is_named_by_how_its_file_begins(runs: Box) -> None:
    folder = runs.folder / ".neuraldbg"
    folder.mkdir(exist_ok=True)
    shutil.copy(runs.folder / "ill.ndbg", folder / "train-20250131-142501-4711.ndbg")
    for words in (("explain", "train"), ("diff", "train", "train-2025"), ("export", "train", "--to", "csv")):
        assert runs.neuraldbg(*words).returncode in (0, 1), words
    missing = runs.neuraldbg("diff", "train", "trainer")
    assert missing.returncode == 2 and "no trace whose name begins so" in missing.stderr


@pytest.mark.parametrize("words", ["explain ill.ndbg --json", "export ill.ndbg --to csv"])
def test_a_reader_that_goes_away_is_no_error(runs: Box, words: str) -> None:
    import subprocess
    import sys

    from helpers.command_line import environment

    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m neuraldbg {words} | head -c 10; exit ${{PIPESTATUS[0]}}"],
        cwd=runs.folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert len(done.stdout) == 10 and done.stderr == "" and done.returncode in (0, 1)
