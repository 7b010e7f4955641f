"""``neuraldbg list`` and ``neuraldbg clean``, help and mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers.command_line import TRAINING, Box
from neuraldbg.cli import verbs
from neuraldbg.cli.list import age


def test_list_shows_script_age_steps_and_verdict_the_newest_first(box: Box) -> None:
    assert "make one" in box.neuraldbg("list").stdout
    for name, steps in (("first.py", "40"), ("second.py", "60")):
        box.write(name, TRAINING)
        box.neuraldbg("run", name, steps)
    box.write(".neuraldbg/odd.ndbg", "not a trace")
    done = box.neuraldbg("list")
    assert done.returncode == 0
    assert done.stdout.index("odd") < done.stdout.index("second.py") < done.stdout.index("first.py")
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if " s " in line}
    assert " 60 " in rows["second.py"] and "Nothing failed" in rows["second.py"]
    assert "cannot be read" in rows["odd"]


def test_clean_deletes_traces_and_nothing_else(box: Box) -> None:
    assert box.neuraldbg("clean").stdout == "Nothing to delete.\n"
    box.write("train.py", TRAINING)
    box.neuraldbg("run", "train.py", "40")
    box.write(".neuraldbg/notes.txt", "mine")
    dry = box.neuraldbg("clean", "--dry-run")
    assert dry.returncode == 0 and "1 trace" in dry.stdout and "would delete" in dry.stdout and len(box.traces()) == 1
    wet = box.neuraldbg("clean")
    assert wet.returncode == 0 and box.traces() == []
    left = {file.name for file in (box.folder / ".neuraldbg").iterdir()}
    assert left == {"notes.txt", ".gitignore"}


def test_ages_are_in_the_largest_unit_that_fits() -> None:
    assert [age(seconds) for seconds in (-1, 0.5, 59, 60, 3600, 90000)] == ["0 s", "0 s", "59 s", "1 min", "1 h", "1 d"]


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_has_help_with_an_example(box: Box, verb: str) -> None:
    done = box.neuraldbg(verb, "--help")
    assert done.returncode == 0 and f"neuraldbg {verb}" in done.stdout.split("Example", 1)[1]
    assert max(len(line) for line in done.stdout.splitlines()) <= 100


def test_help_names_every_verb(box: Box) -> None:
    for arguments in ((), ("--help",), ("-h",)):
        done = box.neuraldbg(*arguments)
        assert done.returncode == 0
        for verb in verbs():
            assert f"\n  {verb} " in done.stdout


def test_mistakes_are_one_line_that_says_what_to_do(box: Box) -> None:
    for arguments in (
        ("nothing",),
        ("explain", "--nothing"),
        ("list", "too", "many"),
        ("demo", "nothing"),
        ("run", "-m"),
    ):
        done = box.neuraldbg(*arguments)
        assert done.returncode == 2, arguments
        assert done.stdout == "" and len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith("neuraldbg: ") and ("--help" in done.stderr or "choose" in done.stderr)


def test_the_version_is_told(box: Box) -> None:
    assert box.neuraldbg("--version").stdout.startswith("neuraldbg")


def test_the_readme_tells_every_verb_and_no_other() -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    assert set(re.findall(r"^(?:neuraldbg|.*`neuraldbg) (\w+)", text, re.M)) == set(verbs())
