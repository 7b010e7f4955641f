"""What ``print`` shows of an answer: sentences, not the fields of a record."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from neuraldbg import NeuralDbg
from neuraldbg.records import CausalHypothesis, Explanations
from neuraldbg.report import render


def _hypothesis(cause: str, confidence: float) -> CausalHypothesis:
    return CausalHypothesis(
        cause, "it fails", None, None, (3, 9), confidence, title=f"It is {cause}", explanation="One thing was seen"
    )


def test_hypotheses_are_numbered_sentences() -> None:
    found = Explanations((_hypothesis("dying_relu", 0.8), _hypothesis("loss_sign", 0.1)), 40)
    assert str(found).splitlines() == [f"1. {found[0]}", f"2. {found[1]}"]
    assert repr(found) == "<Explanations: dying_relu 0.80, loss_sign 0.10>"
    assert found[-2].cause == "dying_relu"
    with pytest.raises(IndexError, match="there are 2 hypotheses, numbered from 0; found index 2"):
        found[2]


def test_an_empty_answer_says_so() -> None:
    assert str(Explanations((), 1, "Nothing failed")) == "Nothing failed in 1 step."
    with pytest.raises(IndexError, match="Nothing failed in 7 steps"):
        Explanations((), 7)[0]


def test_a_diagnosis_prints_its_verdict_card(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    with NeuralDbg(model, path=tmp_path / "a.ndbg") as debugger:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e6)
        for _ in range(30):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
    diagnosis = debugger.diagnosis()
    assert str(diagnosis) == render(diagnosis).rstrip("\n")
    assert "WHY" in str(diagnosis) and "\x1b" not in str(diagnosis)
    assert str(debugger.explain_failure()).startswith("1. ")


def test_a_block_never_entered_watched_nothing() -> None:
    debugger = NeuralDbg(torch.nn.Linear(2, 1))
    for text in (str(debugger.explain_failure()), str(debugger.explain_failure("data_anomaly"))):
        assert text == "Nothing was watched: the block was never entered."
    assert "never entered" in str(debugger.diagnosis())
