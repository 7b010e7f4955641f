"""The example of the readme, as a user types it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from neuraldbg.records import CausalHypothesis, SemanticEvent

EXAMPLE = """
import torch, torch.nn as nn
from neuraldbg import NeuralDbg

model = nn.Sequential(nn.Linear(10, 5), nn.ReLU(), nn.Linear(5, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = nn.MSELoss()

with NeuralDbg(model) as dbg:
    for step, (inputs, targets) in enumerate(dataloader):
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()          # events are extracted by themselves

explanations = dbg.explain_failure()
"""


def batches(steps: int, scale: float = 1.0, offset: float = 0.0) -> Iterator[tuple[Tensor, Tensor]]:
    torch.manual_seed(0)
    for _ in range(steps):
        inputs = torch.randn(32, 10)
        yield inputs, inputs[:, :3].sum(1, keepdim=True) * scale + offset


def run(dataloader: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, more: str = "") -> dict[str, Any]:
    monkeypatch.setenv("NEURALDBG_DIR", str(folder))
    torch.manual_seed(0)
    space: dict[str, Any] = {"dataloader": dataloader, "__name__": "__main__"}
    exec(compile(EXAMPLE + more, str(folder / "train.py"), "exec"), space)
    return space


def test_it_names_the_cause_of_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        space = run(batches(200, 1000, 5000), tmp_path, monkeypatch, "print(explanations[0])\n")
    dbg, explanations = space["dbg"], space["explanations"]
    assert explanations and len(explanations) >= 1
    best = explanations[0]
    assert isinstance(best, CausalHypothesis)
    assert best.cause == "unscaled_target"
    assert 0 <= best.confidence <= 1 and best.confidence >= explanations[-1].confidence
    first, last = best.step_range
    assert 0 <= first <= last < 200
    assert best.failure and best.remedy and best.causal_chain
    assert all(isinstance(event, SemanticEvent) for event in best.evidence)
    assert shown.getvalue().strip() == str(best)
    assert "\n" not in str(best) and f"(confidence {best.confidence:.2f})" in str(best)
    assert "unscaled_target" in best._repr_html_()

    assert dbg.diagnosis().outcome in ("failed", "uncertain")
    weak = [hypothesis.cause for hypothesis in dbg.get_causal_hypotheses()]
    assert weak[: len(explanations)] == [hypothesis.cause for hypothesis in explanations]
    assert dbg.trace_causal_chain() == best.causal_chain
    assert dbg.export_mermaid_causal_graph().lstrip().startswith(("flowchart", "graph"))
    pairs = dbg.detect_coupled_failures()
    for pair in pairs:
        assert pair.direction and 0 <= pair.strength <= 1
        assert pair.source in dbg.events and pair.target in dbg.events


def test_it_is_silent_when_nothing_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explanations = run(batches(300), tmp_path, monkeypatch)["explanations"]
    assert not explanations and len(explanations) == 0 and list(explanations) == []
    with pytest.raises(IndexError, match="Nothing failed in 300 steps"):
        explanations[0]
