"""The block around a loop: what it answers, and what it survives."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers.watching import failures
from neuraldbg import NeuralDbg
from neuraldbg.errors import UnknownFailureType, UsageError
from neuraldbg.records import FAILURE_TYPES
from neuraldbg.trace_store.reader import read_diagnosis, read_trace


def train(model: nn.Module, steps: int = 30, rate: float = 0.05) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        inputs = torch.randn(16, 4)
        optimizer.zero_grad()
        F.mse_loss(model(inputs), inputs.sum(1, keepdim=True)).backward()
        optimizer.step()


def test_the_diagnosis_is_kept_in_the_trace(tmp_path: Path) -> None:
    with NeuralDbg(nn.Linear(4, 1), path=tmp_path / "run.ndbg") as debugger:
        train(nn.Linear(4, 1))
    found = debugger.diagnosis()
    assert found is debugger.diagnosis()
    kept = read_diagnosis(tmp_path / "run.ndbg")
    assert kept is not None and kept.summary == found.summary


def test_a_run_is_explained_while_it_runs(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    with NeuralDbg(model, path=tmp_path / "run.ndbg") as debugger:
        train(model, 10)
        assert debugger.diagnosis().steps == 10
        assert not debugger.explain_failure()
        train(model, 30, rate=1e4)
        assert debugger.explain_failure()[0].cause == "learning_rate_jump"
        assert debugger.diagnosis().steps == 40
        assert debugger.trace_causal_chain()
        train(model, 5)
    assert debugger.diagnosis().steps == 45
    assert failures(read_trace(tmp_path / "run.ndbg")) == []


def test_an_unknown_failure_type_lists_those_there_are(tmp_path: Path) -> None:
    debugger = NeuralDbg()
    with pytest.raises(UnknownFailureType) as caught:
        debugger.explain_failure("unknown")
    assert all(name in str(caught.value) for name in (*FAILURE_TYPES, "unknown"))
    with pytest.raises(UnknownFailureType), NeuralDbg(path=tmp_path / "run.ndbg") as debugger:
        debugger.trace_causal_chain("vanishing")


def test_a_notebook_shows_it_escaped(tmp_path: Path) -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.add_module("<b>layer</b>", nn.Linear(4, 1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return next(self.children())(x)

    model = Odd()
    with NeuralDbg(model, path=tmp_path / "run.ndbg") as debugger:
        train(model, 10)
        assert "Nothing failed in 10 steps" in debugger._repr_html_()
        train(model, 30, rate=1e4)
    shown = debugger._repr_html_()
    assert "learning_rate_too_high" in shown and "<b>layer</b>" not in shown
    assert "closed" in repr(debugger)


def test_losses_that_no_backward_shows_are_handed_over(tmp_path: Path) -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    given: dict[str, list[float]] = {"training": [], "validation": []}
    with NeuralDbg(model, path=tmp_path / "run.ndbg") as debugger:
        for _ in range(6):
            inputs = torch.randn(16, 4)
            optimizer.zero_grad()
            loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()
            debugger.record_loss(loss)  # known already
            debugger.record_loss(loss.item() * 2)
            given["training"].append(loss.item() * 2)
            with torch.no_grad():
                validation = (model(inputs) - 1).pow(2).mean()
                debugger.record_loss(validation)
                given["validation"].append(validation.item())
        debugger.record_loss(torch.ones(3))  # not one number: noted, and the loop goes on
    trace = read_trace(tmp_path / "run.ndbg")
    recorded = [place.name for place in trace.series("loss.value").places if place.details.get("recorded")]
    (evaluation,) = trace.series("evaluation.loss").names
    assert len(recorded) == 1
    assert trace.scalar("loss.value", recorded[0])[1].tolist() == pytest.approx(given["training"])
    assert trace.scalar("evaluation.loss", evaluation)[1].tolist() == pytest.approx(given["validation"], rel=1e-6)
    (failure,) = failures(trace)
    assert "record_loss expects one number, found shape (3,)" in failure
    debugger.record_loss(1.0)  # after the block: nothing happens


def test_the_script_is_named_by_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURALDBG_DIR", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["/somewhere/train_big.py", "--fast"])
    with NeuralDbg() as debugger:
        pass
    assert debugger.path is not None and debugger.path.name.startswith("train_big-")
    assert read_trace(debugger.path).meta["script"] == "/somewhere/train_big.py"
    with NeuralDbg(script="other.py") as debugger:
        pass
    assert debugger.path.name.startswith("other-")
    monkeypatch.setattr(sys, "argv", [""])
    with NeuralDbg() as debugger:
        pass
    assert read_trace(debugger.path).meta["script"] == "interactive"


@pytest.mark.filterwarnings("ignore:.*trace folder cannot be written.*")
def test_a_working_folder_that_is_gone(tmp_path: Path) -> None:
    here = os.getcwd()
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        with NeuralDbg() as debugger:
            train(nn.Linear(4, 1), 3)
        assert debugger.diagnosis().steps == 3
        assert debugger.path is not None and debugger.path.exists()
    finally:
        os.chdir(here)


def test_a_trace_that_could_not_be_recorded_is_said_and_not_raised(tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning), NeuralDbg(path=tmp_path / "no" / "such" / "folder" / "x.ndbg") as debugger:
        train(nn.Linear(4, 1), 3)
        assert debugger.diagnosis().outcome == "unseen"
    assert "could not be recorded" in debugger.diagnosis().summary
    assert debugger.diagnosis().notes
    assert not debugger.explain_failure()
    assert debugger.events == ()


@pytest.mark.parametrize("content", [None, b"", b"not a database at all, but a text"])
def test_a_trace_that_is_lost_or_damaged_afterwards_is_said_and_not_raised(
    content: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "run.ndbg"
    with NeuralDbg(path=path) as debugger:
        train(nn.Linear(4, 1), 3)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert debugger.diagnosis().outcome == "unseen"
    assert not debugger.explain_failure()


def test_a_trace_that_cannot_take_the_diagnosis_is_explained_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "run.ndbg"
    with NeuralDbg(path=path) as debugger:
        train(nn.Linear(4, 1), 5)

    def refuse(*arguments: object) -> None:
        raise OSError("read-only file system")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("neuraldbg.session.write_diagnosis", refuse)
        assert debugger.diagnosis().steps == 5


@pytest.mark.parametrize("name", ["budget", "allowance"])
@pytest.mark.parametrize("value", [-1, float("nan"), "much", None])
def test_what_observing_may_cost_is_a_number_that_is_not_negative(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"{name} expects .*, zero or more, found"):
        NeuralDbg(nn.Linear(2, 1), **{name: value})


def test_one_step_is_no_steps(tmp_path: Path) -> None:
    model = nn.Linear(4, 1)
    with NeuralDbg(model, path=tmp_path / "one.ndbg") as debugger:
        model(torch.ones(8, 4)).square().mean().backward()
        torch.optim.SGD(model.parameters(), lr=0.01).step()
    assert debugger.diagnosis().summary.startswith("Nothing failed in 1 step: ")
