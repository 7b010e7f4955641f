"""Every verb is in the guides, and its help has examples made of options that exist."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from neuraldbg.cli import build, verbs

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("verb", verbs())
def test_help_has_examples_of_the_verb(verb):
    command = get_command(build()).commands[verb]
    examples = re.findall(r"^ +(neuraldbg .*)$", command.help, re.M)
    assert examples and all(shlex.split(example)[1] == verb for example in examples)
    known = {name for parameter in command.params for name in parameter.opts}
    for example in examples:
        # What comes after a script or a module belongs to it.
        ours = re.split(r" \| |\.py| package\.", example)[0]
        assert {word for word in shlex.split(ours)[2:] if word.startswith("-")} <= known


@pytest.mark.parametrize("verb", verbs())
def test_the_guides_name_the_verb(verb):
    assert f"neuraldbg {verb}" in (ROOT / "README.md").read_text("utf-8")


def test_the_page_of_the_command_line_has_them_all():
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "scripts" / "generate_docs.py")
    assert spec is not None and spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    page = generator.command_line()
    assert all(f"## neuraldbg {verb}\n" in page for verb in verbs())
