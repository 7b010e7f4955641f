"""What is put into torch comes out again, whatever ends the block; a model carries none of it."""

from __future__ import annotations

import copy
import io
import os
import pickle
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks

from helpers.watching import Watching, failures
from neuraldbg import NeuralDbg
from neuraldbg.errors import NestedSessionError, TrainingFailure
from neuraldbg.observe.patches import EVALUATION_LOSSES
from neuraldbg.trace_store.reader import read_trace


def of_torch() -> dict[str, Any]:
    """Everything of torch that a block touches."""
    found: dict[str, Any] = {
        name: dict(getattr(module_hooks, name))
        for name in dir(module_hooks)
        if name.startswith("_global_") and isinstance(getattr(module_hooks, name), dict)
    }
    found["before step"] = dict(optimizer_hooks._global_optimizer_pre_hooks)
    found["after step"] = dict(optimizer_hooks._global_optimizer_post_hooks)
    found["backward"] = torch.autograd.backward
    found["saving"] = torch.autograd.graph.saved_tensors_hooks.__enter__
    for name in ("scale", "unscale_", "step"):
        found[f"scaler.{name}"] = getattr(torch.amp.GradScaler, name)
    for name in (*EVALUATION_LOSSES, "dropout"):
        function = getattr(F, name)
        found[name] = (function, function.__code__, function.__defaults__, dict(vars(function)))
    return found


def open_files() -> list[str]:
    links = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            continue
    return [link for link in links if ".ndbg" in link]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    before, threads = of_torch(), set(threading.enumerate())
    yield
    assert of_torch() == before
    assert {thread for thread in threading.enumerate() if thread.name == "neuraldbg-trace"} <= threads
    assert open_files() == []


def hooks_on(model: nn.Module) -> list[Any]:
    found: list[Any] = []
    for module in model.modules():
        for name in dir(module):
            if "hooks" in name and isinstance(getattr(module, name), dict):
                found += getattr(module, name).values()
        found += [method for method in ("forward", "__call__") if method in vars(module)]
    for tensor in (*model.parameters(), *model.buffers()):
        found += (getattr(tensor, "_backward_hooks", None) or {}).values()
        found += (getattr(tensor, "_post_accumulate_grad_hooks", None) or {}).values()
    return found


class Net(nn.Module):
    """Holds functionals and its last output, and returns a parameter from a submodule."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.scale = nn.Linear(4, 6), nn.Linear(6, 1), Scale()
        self.loss_of, self.drop = F.mse_loss, F.dropout
        self.last: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        self.last = self.first(x)
        return self.second(self.drop(self.last, 0.5).relu()) * self.scale()


class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.ones(1))

    def forward(self) -> Tensor:
        return self.value


def train(model: nn.Module, steps: int = 3, before_step: Callable[[], None] = lambda: None) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
        before_step()
        optimizer.step()


def test_a_model_is_copied_pickled_and_saved_inside_the_block_and_carries_nothing(tmp_path: Path) -> None:
    model = Net()
    with Watching(tmp_path)(model), warnings.catch_warnings():
        warnings.simplefilter("error")
        made_inside = Net()
        train(model)
        model.last = None  # torch itself cannot copy what is no leaf
        for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), saved_and_loaded(model)):
            assert hooks_on(again) == []
            train(again, 1)
            again.last = None
        pickle.dumps(made_inside)
        pickle.dumps(torch.amp.GradScaler("cpu"))
        assert hooks_on(model) == []
        # A tensor that the user keeps carries no hook once its backward is over.
        model(torch.randn(8, 4)).sum().backward()
        assert model.last is not None and not model.last._backward_hooks
    model.last = None
    pickle.dumps(model)
    pickle.dumps(made_inside)
    assert hooks_on(model) == []


def saved_and_loaded(model: nn.Module) -> nn.Module:
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


class Broken(nn.Module):
    def __init__(self, error: type[BaseException]) -> None:
        super().__init__()
        self.inner, self.error, self.calls = nn.Linear(4, 1), error, 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        kept = self.inner(x)
        if self.calls == 3:
            self.kept = kept
            raise self.error("in the model")
        return kept


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_an_exception_of_the_user_passes_and_leaves_nothing(error: type[BaseException], tmp_path: Path) -> None:
    model, block = Broken(error), Watching(tmp_path)
    with pytest.raises(error, match="in the model"), block(model):
        train(model, 10)
    assert not model.kept._backward_hooks
    (fact,) = block.trace.facts("run.exception")
    assert fact.data == {"type": error.__name__, "message": "in the model"}
    assert block.trace.steps == 2
    train(nn.Linear(4, 1))


def test_an_exception_inside_a_backward_or_a_step_leaves_nothing(tmp_path: Path) -> None:
    class Refusing(torch.optim.SGD):
        def step(self, closure: Any = None) -> None:
            raise ArithmeticError("no step")

    model = nn.Linear(4, 1)
    with pytest.raises(ArithmeticError), Watching(tmp_path)(model):
        model(torch.randn(2, 4)).sum().backward()
        Refusing(model.parameters()).step()

    def refuse(gradient: Tensor) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Watching(tmp_path)(model):
        model.weight.register_hook(refuse)
        model(torch.randn(2, 4)).sum().backward()


def test_an_exception_without_words_does_not_hide_itself(tmp_path: Path) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("cannot say")

    block = Watching(tmp_path)
    with pytest.raises(Mute), block(None):
        raise Mute
    assert block.trace.facts("run.exception")[0].data["type"] == "Mute"


CALLBACKS = (
    ("forward", "begins"), ("forward", "ends"), ("forward", "release"), ("forward", "close_step"),
    ("loss", "value"), ("loss", "structure"), ("loss", "evaluation"), ("optimizers", "settings"),
    ("update", "before_step"),
    ("update", "after_step"), ("update", "after_backward"), ("optimizers", "membership"), ("recorder", "write"),
)  # fmt: skip


@pytest.mark.parametrize(("part", "method"), CALLBACKS)
def test_a_failing_callback_is_recorded_and_shown_and_never_raised(
    part: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("a fault of ours")

    model, block = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)), Watching(tmp_path)
    bare = copy.deepcopy(model)
    with block(model) as debugger:
        monkeypatch.setattr(getattr(debugger._observer, part), method, fail)
        torch.manual_seed(1)
        train(model, 5)
        with torch.no_grad():
            F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1))
    torch.manual_seed(1)
    train(bare, 5)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), bare.parameters()))
    monkeypatch.undo()
    assert failures(block.trace)
    assert any("a fault of ours" in note for note in debugger.diagnosis().notes)


def test_a_block_inside_another_is_an_error_and_the_outer_one_goes_on(tmp_path: Path) -> None:
    model, block = nn.Linear(4, 1), Watching(tmp_path)
    with block(model) as outer:
        train(model, 2)
        with pytest.raises(NestedSessionError, match="another one is open around this one"), NeuralDbg(model):
            raise AssertionError
        with pytest.raises(NestedSessionError), outer:
            raise AssertionError
        train(model, 2)
    assert read_trace(outer.path).steps == 4
    with block(model):
        train(model, 1)


def test_a_launchers_block_gives_way_to_one_inside_and_goes_on_afterwards(tmp_path: Path) -> None:
    model, block = nn.Linear(4, 1), Watching(tmp_path)
    with NeuralDbg(path=tmp_path / "outer.ndbg", gives_way=True) as outer:
        train(model, 2)
        with pytest.raises(ValueError, match="ends the inner one"), block(model) as inner:
            train(model, 5)
            raise ValueError("ends the inner one")
        train(model, 1)
    assert outer.gave_way_to is inner
    assert read_trace(outer.path).steps == 3
    assert block.trace.steps == 5
    assert failures(block.trace) == [] and failures(read_trace(outer.path)) == []


def test_two_observers_at_once_both_come_out(tmp_path: Path) -> None:
    outer, inner = Watching(tmp_path), Watching(tmp_path)

    def elsewhere() -> None:
        with inner(nn.Linear(4, 1)):
            train(nn.Linear(4, 1), 3)

    model = nn.Linear(4, 1)
    with outer(model):
        train(model, 2)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        train(model, 2)
    assert (outer.trace.steps, inner.trace.steps) == (4, 3)


def test_one_object_watches_one_block_after_another(tmp_path: Path) -> None:
    model = nn.Linear(4, 1)
    debugger = NeuralDbg(model)
    os.environ["NEURALDBG_DIR"] = str(tmp_path)
    try:
        for steps in (2, 3):
            with debugger:
                train(model, steps)
            assert debugger.diagnosis().steps == steps
    finally:
        del os.environ["NEURALDBG_DIR"]


def test_other_threads_are_none_of_our_business(tmp_path: Path) -> None:
    model, block = nn.Linear(4, 1), Watching(tmp_path)
    with block(model):
        train(model, 2)
        thread = threading.Thread(target=train, args=(nn.Linear(4, 1), 5))
        thread.start()
        thread.join()
    assert block.trace.steps == 2


def test_somebody_elses_wrapper_around_ours_stays(tmp_path: Path) -> None:
    original = torch.autograd.backward
    try:
        with Watching(tmp_path)(None):
            ours = torch.autograd.backward

            def theirs(*args: Any, **kwargs: Any) -> Any:
                return ours(*args, **kwargs)

            torch.autograd.backward = theirs
        assert torch.autograd.backward is theirs
        torch.ones(1, requires_grad=True).sum().backward()
    finally:
        torch.autograd.backward = original


@pytest.mark.parametrize("poison", ["input", "gradient"])
def test_raise_stops_before_the_weights_are_poisoned(poison: str, tmp_path: Path) -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with pytest.raises(TrainingFailure, match="not finite at step 2"), Watching(tmp_path, on_non_finite="raise")(model):
        for step in range(5):
            x = torch.randn(8, 4)
            if step == 2 and poison == "input":
                x[0, 0] = float("nan")
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            if step == 2 and poison == "gradient":
                loss = loss + (model.weight.sum() * 0).abs().sqrt()
            loss.backward()
            optimizer.step()
    assert step == 2
    assert all(torch.isfinite(parameter).all() for parameter in model.parameters())
