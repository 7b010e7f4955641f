"""Each type of failure is explained, from modules and from functions; what trains well is left in peace."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from helpers.programs import FAILING, HEALTHY
from neuraldbg import NeuralDbg
from neuraldbg.records import FAILURE_TYPES

SEEDS = (0, 1, 2)


def test_every_type_has_a_program() -> None:
    assert set(FAILING) == set(FAILURE_TYPES)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("functional", [False, True], ids=["modules", "functions"])
@pytest.mark.parametrize("failure_type", FAILING)
def test_a_failure_is_explained(failure_type: str, functional: bool, seed: int, tmp_path: Path) -> None:
    make, causes = FAILING[failure_type]
    torch.manual_seed(seed)
    program = make(functional)
    debugger = NeuralDbg(program.model, path=tmp_path / "run.ndbg")
    program.run(debugger)
    found = debugger.explain_failure(failure_type)
    said = [(hypothesis.cause, round(hypothesis.confidence, 2)) for hypothesis in debugger.get_causal_hypotheses()]
    assert found, (debugger.diagnosis().summary, said)
    assert found[0].cause in causes, said
    assert debugger.diagnosis().notes == ()
    assert debugger.events


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", HEALTHY)
def test_a_run_that_trains_well_gets_no_explanation(name: str, seed: int, tmp_path: Path) -> None:
    torch.manual_seed(seed)
    program = HEALTHY[name]()
    debugger = NeuralDbg(program.model, path=tmp_path / "run.ndbg")
    program.run(debugger)
    assert not debugger.explain_failure(), str(debugger.explain_failure()[0])
    assert debugger.diagnosis().outcome == "healthy"
    assert debugger.diagnosis().notes == ()
