"""Causes that look alike, and runs that look ill: small programs, each with the one right answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from helpers import another_line_apart as another
from helpers.one_line_apart import RIGHT, WRONG
from helpers.seems_alike import FAILING
from helpers.seems_ill import HEALTHY
from helpers.told_apart import Program
from neuraldbg import NeuralDbg

_SICK = [*FAILING, *WRONG, *another.WRONG]


def _explain(program: Program, seed: int, folder: Path) -> Any:
    torch.manual_seed(seed)
    sessions: list[NeuralDbg] = []

    def watch(model: nn.Module) -> NeuralDbg:
        sessions.append(NeuralDbg(model, path=folder / "run.ndbg", preset="every_step"))
        return sessions[-1]

    program(watch)
    return sessions[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("program", [*HEALTHY, *RIGHT, *another.RIGHT], ids=lambda program: program.__name__)
def test_nothing_is_said_of_a_run_that_is_well(program: Program, seed: int, tmp_path: Path) -> None:
    session = _explain(program, seed, tmp_path)
    assert not session.explain_failure(), str(session.explain_failure()[0])
    assert not [note for note in session.diagnosis().notes if "failed" in note]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("program", "cause"), _SICK, ids=[f"{cause}-{i}" for i, (_, cause) in enumerate(_SICK)])
def test_the_right_one_of_two_causes_is_named(program: Program, cause: str, seed: int, tmp_path: Path) -> None:
    found = _explain(program, seed, tmp_path).explain_failure()
    assert found, "nothing was said"
    assert found[0].cause == cause, [str(one) for one in found]
