"""Compiled models: the same graphs, the same numbers, and what the compiler hides is said."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo
import torch.nn.functional as F
from torch import Tensor, nn
from torch._dynamo.utils import counters

from neuraldbg import NeuralDbg
from neuraldbg.pipeline import diagnose
from neuraldbg.records import Trace
from neuraldbg.trace_store.reader import read_trace

BACKEND = "aot_eager"
Forward = Callable[[Tensor], Tensor]


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 16)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.linear(x)) * 2


class Model(nn.Module):
    """Dropout, so that the random stream counts; a block that can be compiled alone."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()
        self.dropout = nn.Dropout(0.1)
        self.last = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.dropout(torch.relu(self.inner(x))))


def _compiled_module(model: Model) -> Forward:
    return torch.compile(model, backend=BACKEND, fullgraph=True)  # type: ignore[no-any-return]


def _compiled_in_place(model: Model) -> Forward:
    model.compile(backend=BACKEND, fullgraph=True)
    return model


def _regional(model: Model) -> Forward:
    model.inner = torch.compile(model.inner, backend=BACKEND, fullgraph=True)  # type: ignore[assignment]
    return model


def _loop(forward: Forward, optimizer: torch.optim.Optimizer, steps: int, make_step: bool = False) -> None:
    step = torch.compile(optimizer.step, backend=BACKEND) if make_step else optimizer.step
    for _ in range(steps):
        x, y = torch.randn(8, 8), torch.randn(8, 4)
        optimizer.zero_grad()
        F.mse_loss(forward(x), y).backward()
        step()


def _bare(compile_it: Callable[[Model], Forward], steps: int, **loop: Any) -> tuple[list[Tensor], int]:
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters())
    _loop(compile_it(model), optimizer, steps, **loop)
    return [p.detach().clone() for p in model.parameters()], counters["stats"]["unique_graphs"]


def _reset() -> tuple[Model, torch.optim.Optimizer]:
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    model = Model()
    return model, torch.optim.Adam(model.parameters())


def _equal(model: Model, expected: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(model.parameters(), expected))


def _check(trace: Trace, unseen: set[str]) -> None:
    assert trace.facts("observer.failure") == ()
    fact = trace.facts("model.compiled")
    assert len(fact) == 1 and set(fact[0].data["unseen"]) == unseen
    assert len(trace.series("loss.value").steps) == 60
    for quantity in ("gradient.norm", "parameter.gradient_norm", "update.norm"):
        assert len(trace.series(quantity).steps) >= 20


WHOLE = {"inner.linear", "dropout", "last"}


@pytest.mark.parametrize("compile_it", [_compiled_module, _compiled_in_place])
@pytest.mark.parametrize("when", ["before", "inside", "warm"])
def test_a_compiled_model_gives_the_same_numbers_from_the_same_graph(
    tmp_path: Path, compile_it: Callable[[Model], Forward], when: str
) -> None:
    expected, graphs = _bare(compile_it, 63)
    model, optimizer = _reset()
    forward: Forward | None = None if when == "inside" else compile_it(model)
    warm = 3 if when == "warm" else 0
    if forward is not None:
        _loop(forward, optimizer, warm)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with NeuralDbg(model, path=tmp_path / "a.ndbg", allowance=0.0):
            forward = forward if forward is not None else compile_it(model)
            _loop(forward, optimizer, 60)
        _loop(forward, optimizer, 3 - warm)
    assert _equal(model, expected)
    assert counters["stats"]["unique_graphs"] == graphs == 1, "watching may not compile anything again"
    assert not counters["graph_break"]
    _check(read_trace(tmp_path / "a.ndbg"), WHOLE)


def test_one_compiled_block_hides_only_itself(tmp_path: Path) -> None:
    expected, graphs = _bare(_regional, 60)
    model, optimizer = _reset()
    forward = _regional(model)
    with NeuralDbg(model, path=tmp_path / "a.ndbg", allowance=0.0):
        _loop(forward, optimizer, 60)
    assert _equal(model, expected)
    assert counters["stats"]["unique_graphs"] == graphs
    trace = read_trace(tmp_path / "a.ndbg")
    _check(trace, {"inner.linear"})
    assert {"dropout", "last"} <= set(trace.series("module.output_std").names)


def test_a_compiled_optimizer_step_is_not_traced_with_our_callbacks(tmp_path: Path) -> None:
    expected, graphs = _bare(_compiled_module, 60, make_step=True)
    model, optimizer = _reset()
    forward = _compiled_module(model)
    with NeuralDbg(model, path=tmp_path / "a.ndbg", allowance=0.0):
        _loop(forward, optimizer, 60, make_step=True)
    assert _equal(model, expected)
    assert counters["stats"]["unique_graphs"] <= graphs
    _check(read_trace(tmp_path / "a.ndbg"), WHOLE)


def test_a_loss_inside_a_compiled_function_keeps_its_full_graph(tmp_path: Path) -> None:
    def function(model: Model) -> Callable[[Tensor, Tensor], Tensor]:
        return torch.compile(lambda x, y: F.mse_loss(model(x), y), backend=BACKEND, fullgraph=True)  # type: ignore[no-any-return]

    def loop(loss: Callable[[Tensor, Tensor], Tensor], optimizer: torch.optim.Optimizer) -> None:
        for _ in range(60):
            optimizer.zero_grad()
            loss(torch.randn(8, 8), torch.randn(8, 4)).backward()
            optimizer.step()

    model, optimizer = _reset()
    loop(function(model), optimizer)
    expected = [p.detach().clone() for p in model.parameters()]
    model, optimizer = _reset()
    with NeuralDbg(model, path=tmp_path / "a.ndbg", allowance=0.0):
        loop(function(model), optimizer)
    assert _equal(model, expected)
    # With our module hooks and without: two graphs, kept side by side, however often the hooks come and go.
    assert counters["stats"]["unique_graphs"] <= 2
    assert not counters["graph_break"]
    _check(read_trace(tmp_path / "a.ndbg"), WHOLE)


def test_a_model_that_is_handed_over_compiled_keeps_its_names(tmp_path: Path) -> None:
    model, optimizer = _reset()
    compiled = torch.compile(model, backend=BACKEND)
    with NeuralDbg(compiled, path=tmp_path / "a.ndbg", allowance=0.0):  # type: ignore[arg-type]
        _loop(compiled, optimizer, 60)
    trace = read_trace(tmp_path / "a.ndbg")
    assert "inner.linear.weight" in trace.series("parameter.gradient_norm").names
    assert any("layers inside the compiled model were not seen" in note for note in diagnose(trace).notes)
    _check(trace, WHOLE)


def test_a_bad_value_inside_a_compiled_model_is_traced_to_its_line(tmp_path: Path) -> None:
    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.linear(x.sqrt())

    torch.manual_seed(0)
    model = Root()
    compiled = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with NeuralDbg(model, path=tmp_path / "a.ndbg", allowance=0.0):
        for step in range(40):
            optimizer.zero_grad()
            compiled(torch.rand(8, 4) - (1.0 if step == 30 else 0.0)).mean().backward()
            optimizer.step()
    (fact,) = read_trace(tmp_path / "a.ndbg").facts("nonfinite.loss")
    assert fact.step == 30
    again = fact.data["second_forward"]
    assert again["found"] and again["operation"] == "sqrt" and "test_compile.py:" in again["source"]


def test_inductor_gives_the_same_numbers(tmp_path: Path) -> None:
    def compile_it(model: Model) -> Forward:
        return torch.compile(model)  # type: ignore[no-any-return]

    expected, graphs = _bare(compile_it, 30)
    model, optimizer = _reset()
    forward = compile_it(model)
    with NeuralDbg(model, path=tmp_path / "a.ndbg", allowance=0.0):
        _loop(forward, optimizer, 30)
    assert _equal(model, expected)
    assert counters["stats"]["unique_graphs"] == graphs


def test_a_container_compiled_inside_the_block_is_compiled(tmp_path: Path) -> None:
    def graphs(watch: Callable[[nn.Module], Any]) -> tuple[int, int]:
        torch._dynamo.reset()
        counters.clear()
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with watch(model):
            forward = torch.compile(model, backend="eager")
            for _ in range(3):
                optimizer.zero_grad()
                forward(torch.randn(8, 4)).square().mean().backward()
                optimizer.step()
        return counters["stats"]["unique_graphs"], counters["stats"]["calls_captured"]

    bare = graphs(lambda model: contextlib.nullcontext())
    assert bare == (1, 3)
    assert graphs(lambda model: NeuralDbg(model, path=tmp_path / "run.ndbg")) == bare
