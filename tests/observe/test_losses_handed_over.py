"""Training without a backward: the loss that is handed over is judged, and what was seen is said as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from neuraldbg import NeuralDbg
from neuraldbg.trace_store.reader import read_trace

X, Y = torch.randn(64, 10, generator=torch.Generator().manual_seed(0)), torch.arange(64) % 4


@pytest.mark.parametrize("number", [True, False], ids=["number", "tensor"])
@pytest.mark.parametrize("gradients", [True, False])
def test_losses_alone_are_a_curve(tmp_path: Path, number: bool, gradients: bool) -> None:
    torch.manual_seed(0)
    model, given = nn.Linear(10, 4), []
    with NeuralDbg(model, path=tmp_path / "a.ndbg") as debugger:
        for step in range(80):
            with torch.set_grad_enabled(gradients):
                loss = F.cross_entropy(model(X), Y)
                debugger.record_loss(loss.item() if number else loss)
            given.append(loss.item())
            model.weight.data.mul_(1.0 if step < 40 else 1.3)
    steps, values = read_trace(tmp_path / "a.ndbg").scalar("loss.value")
    assert steps.tolist() == list(range(80))
    assert values.tolist() == pytest.approx(given)
    diagnosis = debugger.diagnosis()
    assert diagnosis.steps == 80
    assert diagnosis.outcome != "unseen"


def test_a_validation_before_the_training_stays_one(tmp_path: Path) -> None:
    model = nn.Linear(10, 4)
    with NeuralDbg(model, path=tmp_path / "a.ndbg") as debugger:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            with torch.no_grad():
                debugger.record_loss(F.cross_entropy(model(X), Y))
            for _ in range(2 if epoch < 2 else 0):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(X), Y)
                debugger.record_loss(loss)
                loss.backward()
                optimizer.step()
    trace = read_trace(tmp_path / "a.ndbg")
    assert trace.series("loss.value").names == ("loss",)
    recorded = [name for name in trace.series("evaluation.loss").names if name.startswith("recorded")]
    assert len(trace.scalar("evaluation.loss", recorded[0])[1]) == 3


def _by_grad(model: nn.Module) -> None:
    loss = F.cross_entropy(model(X), Y)
    for parameter, gradient in zip(model.parameters(), torch.autograd.grad(loss, list(model.parameters()))):
        parameter.grad = gradient


def _by_func(model: nn.Module) -> None:
    def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(model, parameters, (x[None],)), y[None])

    parameters = {name: value.detach() for name, value in model.named_parameters()}
    gradients = vmap(grad(loss), (None, 0, 0))(parameters, X, Y)
    for name, parameter in model.named_parameters():
        parameter.grad = gradients[name].mean(0)


@pytest.mark.parametrize("gradients", [_by_grad, _by_func])
@pytest.mark.parametrize("hand_over", [True, False])
def test_gradients_without_a_backward(tmp_path: Path, gradients: object, hand_over: bool) -> None:
    assert callable(gradients)
    model = nn.Linear(10, 4)
    with NeuralDbg(model, path=tmp_path / "a.ndbg") as debugger:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(20):
            gradients(model)
            if hand_over:
                debugger.record_loss(F.cross_entropy(model(X), Y))
            optimizer.step()
    diagnosis = debugger.diagnosis()
    if hand_over:
        assert diagnosis.outcome != "unseen"
        assert len(read_trace(tmp_path / "a.ndbg").scalar("loss.value")[1]) == 20
    else:
        assert "no backward pass and 20 optimizer steps were seen" in diagnosis.summary
        assert "record_loss" in diagnosis.summary
