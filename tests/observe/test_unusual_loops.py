"""Unusual optimizers, models and loops: each has a stated behaviour, and none makes a callback of ours fail."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from helpers.training import finite, squared, train
from helpers.watching import watched


class Custom(torch.optim.Optimizer):
    """A subclass with an unusual group and no learning rate."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {"speed": 0.1, "betas": (0.9,), "note": None, "lr": None})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.sub_(group["speed"] * parameter.grad.sign())


class DuckTyped:
    """Not an Optimizer at all."""

    def __init__(self, parameters: Any) -> None:
        self.parameters = list(parameters)

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def step(self) -> None:
        with torch.no_grad():
            for parameter in self.parameters:
                parameter -= 0.1 * parameter.grad


def test_a_custom_optimizer_is_an_optimizer(tmp_path: Path) -> None:
    model = nn.Linear(3, 1)
    trace = watched(tmp_path, lambda block: train(block, model, squared(4, 3), Custom(model.parameters())))
    assert trace.meta["counts"]["optimizer_steps"] == 4
    np.testing.assert_allclose(trace.scalar("parameter.update_norm", "weight")[1], 0.1 * math.sqrt(3), rtol=1e-4)


def test_steps_of_a_duck_typed_optimizer_are_counted_by_backwards(tmp_path: Path) -> None:
    model = nn.Linear(3, 1)
    trace = watched(tmp_path, lambda block: train(block, model, squared(4, 3), DuckTyped(model.parameters())))
    assert (trace.steps, trace.meta["counts"]["counted_by"]) == (4, "backward")
    assert finite(trace, "loss.value") == 4


def test_a_rate_that_is_a_tensor(tmp_path: Path) -> None:
    model = nn.Linear(3, 1)
    stepper = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.01), capturable=False, foreach=False)
    trace = watched(tmp_path, lambda block: train(block, model, squared(4, 3), stepper))
    assert trace.scalar("optimizer.learning_rate")[1].tolist() == pytest.approx([0.01])


def test_an_optimizer_without_gradients(tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with block(model):
            for _ in range(3):
                optimizer.step()

    assert watched(tmp_path, loop).steps == 3


def test_a_backward_from_many_numbers_has_no_loss_value_and_counts(tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with block(model):
            for _ in range(3):
                optimizer.zero_grad()
                output = model(torch.randn(4, 3))
                output.backward(gradient=torch.ones_like(output))
                optimizer.step()
                optimizer.zero_grad()
                output = model(torch.randn(4, 3))
                torch.autograd.backward([output[:, 0].sum(), output[:, 1]], [None, torch.ones(4)])
                optimizer.step()

    trace = watched(tmp_path, loop)
    assert trace.steps == 6
    assert finite(trace, "gradient.norm") == 6


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_losses_in_double_precision_and_of_one_element(shape: tuple[int, ...], tmp_path: Path) -> None:
    model, values = nn.Linear(3, 1).double(), []

    def loss_of(m: nn.Module) -> Tensor:
        loss = m(torch.randn(4, 3, dtype=torch.float64)).pow(2).mean().reshape(shape)
        values.append(loss.item())
        return loss

    trace = watched(tmp_path, lambda block: train(block, model, loss_of))
    np.testing.assert_allclose(trace.scalar("loss.value")[1], values, rtol=1e-12)


def test_a_complex_root_with_a_gradient(tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        weight = nn.Parameter(torch.randn((), dtype=torch.complex64))
        optimizer = torch.optim.SGD([weight], lr=0.1)
        with block(None):
            for _ in range(3):
                optimizer.zero_grad()
                (weight * weight).backward(gradient=torch.ones((), dtype=torch.complex64))
                optimizer.step()

    assert watched(tmp_path, loop).steps == 3


class Wrapper(nn.Module):
    """As DataParallel does: the model is an attribute ``module``, and outputs go through."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


@pytest.mark.parametrize("wrap", [Wrapper, nn.DataParallel])
def test_a_wrapper_around_the_watched_model_changes_no_name(wrap: Any, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

    def loop(block: Any) -> None:
        wrapped = wrap(model)
        optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
        with block(model):
            for _ in range(3):
                optimizer.zero_grad()
                wrapped(torch.randn(4, 3)).pow(2).mean().backward()
                optimizer.step()

    trace = watched(tmp_path, loop)
    assert finite(trace, "parameter.gradient_norm", "0.weight") == 3
    assert finite(trace, "module.output_std", "1") == 3


def test_modules_and_parameters_made_during_training_get_names(tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        model = nn.Sequential(nn.Linear(3, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with block(model):
            for step in range(6):
                if step == 3:
                    model.append(nn.Linear(4, 2))
                    optimizer.add_param_group({"params": model[1].parameters()})
                optimizer.zero_grad()
                model(torch.randn(4, 3)).pow(2).mean().backward()
                optimizer.step()

    trace = watched(tmp_path, loop)
    assert trace.scalar("parameter.gradient_norm", "1.weight")[0].tolist() == [3, 4, 5]
    assert trace.scalar("module.output_std", "1")[0].tolist() == [3, 4, 5]


def test_modules_used_out_of_order_are_linked_as_the_data_flows(tmp_path: Path) -> None:
    model = nn.ModuleDict({"last": nn.Linear(4, 1), "first": nn.Linear(3, 4), "middle": nn.Linear(4, 4)})
    trace = watched(
        tmp_path,
        lambda block: train(
            block, model, lambda m: m["last"](m["middle"](m["first"](torch.randn(8, 3)).tanh()).tanh()).pow(2).mean()
        ),
    )
    edges = {(edge.source, edge.target) for edge in trace.flow}
    assert {("first", "middle"), ("middle", "last"), ("last", "<loss>")} <= edges
    assert not {("last", "middle"), ("middle", "first")} & edges


@pytest.mark.parametrize("given", [True, False])
def test_a_model_that_is_replaced_in_the_loop_is_followed(given: bool, tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
        with block(model if given else None):
            for part in range(2):
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                for _ in range(3):
                    optimizer.zero_grad()
                    model(torch.randn(4, 3)).pow(2).mean().backward()
                    optimizer.step()
                if part == 0:
                    del optimizer
                    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))

    trace = watched(tmp_path, loop)
    assert trace.steps == 6
    steps = [*trace.scalar("parameter.gradient_norm", "0.weight")[0]]
    if not given:
        # Found by its variable; where the interpreter still holds the old one it gets that as its name.
        steps += [*trace.scalar("parameter.gradient_norm", "model.0.weight")[0]]
    assert steps == list(range(6))


def test_exponents_masks_and_steps_in_the_loss_that_are_tensors(tmp_path: Path) -> None:
    model, power = nn.Linear(3, 2), torch.tensor([2.0, 3.0])

    def loss_of(m: nn.Module) -> Tensor:
        y = m(torch.randn(4, 3))
        return (y - 1).abs().pow(power).mean() + (y * torch.ones(2)).masked_fill(y > 0, 0.0).sum() / torch.tensor(3.0)

    assert watched(tmp_path, lambda block: train(block, model, loss_of)).steps == 4


def test_nested_and_ragged_inputs(tmp_path: Path) -> None:
    class Deep(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 1)

        def forward(self, batch: dict[str, Any]) -> Tensor:
            return torch.cat([self.inner(item) for item in batch["items"]])

    batch = {"items": [torch.randn(2, 3), torch.randn(5, 3)], "names": ["a", object()], "self": None}
    batch["self"] = batch
    trace = watched(tmp_path, lambda block: train(block, Deep(), lambda m: m(batch).pow(2).mean()))
    assert trace.scalar("module.calls", "inner")[1].tolist()[0] == 2
