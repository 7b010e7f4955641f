"""The exact step of a non-finite value, its origin, and the run unchanged by looking for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from neuraldbg import NeuralDbg
from neuraldbg.errors import TrainingFailure
from neuraldbg.pipeline import diagnose
from neuraldbg.records import Fact
from neuraldbg.trace_store.reader import read_trace

FAILING = 60


class Roots(nn.Module):
    """Takes a square root of what a batch can make zero or negative."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.dropout = nn.Dropout(0.1)
        self.last = nn.Linear(9, 1)
        self.calls = 0

    def forward(self, x: Tensor, offset: Tensor) -> Tensor:
        self.calls += 1
        hidden = self.dropout(torch.relu(self.norm(self.first(x))))
        root = torch.sqrt(offset * self.last.weight.detach().sum().abs().clamp_min(0.1))
        return self.last(torch.cat([hidden, root], 1))


class Lengths(nn.Module):
    """Its forward is finite where its backward is not: the root of zero."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.last = nn.Linear(8, 1)

    def forward(self, x: Tensor, offset: Tensor) -> Tensor:
        length = self.first(x * offset.abs()).sub(self.first.bias).square().sum(1, keepdim=True).sqrt()
        return self.last(torch.tanh(self.first(x))) + length


def _train(
    make: Callable[[], nn.Module], bad: float, path: Path | None, steps: int = FAILING + 5, **settings: Any
) -> tuple[list[Tensor], int, Tensor]:
    """Train; from step FAILING on the offset is ``bad``. Returns everything that watching may not change."""
    torch.manual_seed(0)
    model = make()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)

    def loop() -> None:
        for step in range(steps):
            x = torch.randn(16, 4)
            offset = torch.full((16, 1), bad if step == FAILING else 1.0)
            optimizer.zero_grad()
            loss = (model(x, offset) - x.sum(1, keepdim=True)).square().mean()
            loss.backward()
            optimizer.step()

    if path is None:
        loop()
    else:
        with NeuralDbg(model, path=path, allowance=0.0, **settings):
            loop()
    state = [*model.parameters(), *model.buffers()]
    state += [value for entry in optimizer.state.values() for value in entry.values()]
    return [tensor.detach().clone() for tensor in state], getattr(model, "calls", 0), torch.random.get_rng_state()


def _fact(path: Path, name: str) -> Fact:
    facts = read_trace(path).facts(name)
    assert facts, f"no fact {name}; failures: {[f.data for f in read_trace(path).facts('observer.failure')]}"
    return facts[0]


def _same(left: list[Tensor], right: list[Tensor]) -> bool:
    return all(torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0)) and a.shape == b.shape for a, b in zip(left, right))


def test_a_bad_loss_in_an_unobserved_step_is_traced_to_the_users_line(tmp_path: Path) -> None:
    path = tmp_path / "a.ndbg"
    watched = _train(Roots, -1.0, path)
    bare = _train(Roots, -1.0, None)
    assert _same(watched[0], bare[0])
    assert watched[1] == bare[1], "the second forward may not count as a call of the model"
    assert torch.equal(watched[2], bare[2])
    fact = _fact(path, "nonfinite.loss")
    assert fact.step == FAILING
    again = fact.data["second_forward"]
    assert again["found"] and again["operation"] == "sqrt" and again["direction"] == "forward"
    assert again["module"] == "" and again["kind"] == "operation"
    line = next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "root = torch.sqrt(" in text)
    assert again["source"].endswith(f"test_forensics.py:{line}")
    assert fact.data["producer"]["source"] == again["source"]
    assert read_trace(path).facts("observer.failure") == ()


def test_a_bad_gradient_of_a_finite_loss_is_seen_before_the_weights_are_spoiled(tmp_path: Path) -> None:
    path = tmp_path / "b.ndbg"
    watched = _train(Lengths, 0.0, path)
    assert _same(watched[0], _train(Lengths, 0.0, None)[0])
    fact = _fact(path, "nonfinite.gradient")
    assert fact.step == FAILING
    assert fact.data["parameters"][0]["parameter"] == "first.weight"
    again = fact.data["second_forward"]
    assert again["found"] and again["direction"] == "backward" and again["operation"] == "Sqrt"
    assert "test_forensics.py:" in again["source"]


def test_a_loss_function_that_fails_is_not_blamed_on_a_module(tmp_path: Path) -> None:
    path = tmp_path / "c.ndbg"
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    with NeuralDbg(model, path=path, allowance=0.0):
        for step in range(40):
            optimizer.zero_grad()
            out = model(torch.randn(8, 4))
            (torch.log(out.square() + 1.0).mean() if step != 35 else torch.log(out - 100.0).mean()).backward()
            optimizer.step()
    fact = _fact(path, "nonfinite.loss")
    assert fact.step == 35
    assert fact.data["second_forward"] == {"found": False}
    assert fact.data["producer"]["operation"] == "Log" and fact.data["producer"]["module"] is None


def test_inputs_changed_in_place_are_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "d.ndbg"
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    with NeuralDbg(model, path=path, allowance=0.0):
        for step in range(30):
            x = torch.randn(8, 4)
            optimizer.zero_grad()
            loss = model(x.clone() if step < 25 else x).mean()
            if step == 25:
                loss = loss * float("inf")
                x.data.fill_(1.0)
                x.add_(1.0)
            try:
                loss.backward()
            except RuntimeError:
                break
            optimizer.step()
    assert "changed in place" in _fact(path, "nonfinite.loss").data["second_forward"]["skipped"]


@pytest.mark.parametrize("make, bad", [(Roots, -1.0), (Lengths, 0.0)])
def test_raise_stops_before_the_optimizer_with_the_verdict(
    tmp_path: Path, make: Callable[[], nn.Module], bad: float
) -> None:
    torch.manual_seed(0)
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    before: list[Tensor] = []
    with (
        pytest.raises(TrainingFailure, match=f"not finite at step {FAILING}"),
        NeuralDbg(model, path=tmp_path / "e.ndbg", allowance=0.0, on_non_finite="raise"),
    ):
        for step in range(FAILING + 5):
            before = [parameter.detach().clone() for parameter in model.parameters()]
            x = torch.randn(16, 4)
            optimizer.zero_grad()
            model(x, torch.full((16, 1), bad if step == FAILING else 1.0)).square().mean().backward()
            optimizer.step()
    assert _same(before, list(model.parameters()))


@pytest.mark.parametrize("make, bad", [(Roots, -1.0), (Lengths, 0.0)])
def test_skip_leaves_weights_and_state_for_that_step(tmp_path: Path, make: Callable[[], nn.Module], bad: float) -> None:
    path = tmp_path / "f.ndbg"
    state, _, _ = _train(make, bad, path, on_non_finite="skip")
    # Batch norm keeps running statistics of what it has read, which the optimizer has nothing to do with.
    assert all(bool(torch.isfinite(tensor).all()) for tensor in state)
    steps = [int(tensor) for tensor in state if tensor.dim() == 0 and tensor.is_floating_point()]
    assert set(steps) == {FAILING + 4}
    left_out = read_trace(path).series("optimizer.step_left_out")
    assert list(left_out.steps) == [FAILING]


def test_a_step_that_was_left_out_is_in_the_notes(tmp_path: Path) -> None:
    path = tmp_path / "g.ndbg"
    _train(Roots, -1.0, path, on_non_finite="skip")
    assert any("1 optimizer steps" in note for note in diagnose(read_trace(path)).notes)
