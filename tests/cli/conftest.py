"""A working folder per test, and the comparison with plain python."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.command_line import Box


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


@pytest.fixture
def as_python(box: Box) -> Callable[..., tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]]:
    """Runs the same arguments under python and under ``neuraldbg run``; what may differ is what we add to stderr."""

    def both(*arguments: str) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]:
        plain = box.python(*arguments)
        watched = box.neuraldbg("run", *arguments)
        assert watched.stdout == plain.stdout
        assert watched.returncode == plain.returncode
        assert watched.stderr.startswith(plain.stderr)
        return plain, watched

    return both
