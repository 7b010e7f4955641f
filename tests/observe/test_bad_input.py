"""Unusual input: each has a stated behaviour, and none makes a callback of ours fail."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.training import finite, squared, train
from helpers.watching import Watching, failures, watched
from neuraldbg import NeuralDbg
from neuraldbg.errors import UsageError
from neuraldbg.trace_store import read_trace


def test_a_model_without_parameters_is_watched_as_far_as_it_goes(tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        weight = nn.Parameter(torch.randn(3))
        model = nn.Sequential(nn.Tanh(), nn.Flatten())
        train(block, model, lambda m: m(torch.randn(4, 3) * weight).pow(2).mean(), torch.optim.SGD([weight], lr=0.1))

    trace = watched(tmp_path, loop)
    assert trace.steps == 4
    assert finite(trace, "loss.value") == 4
    assert finite(trace, "module.output_std", "0") == 4


def test_a_block_with_no_step_says_that_nothing_was_trained(tmp_path: Path) -> None:
    block = Watching(tmp_path)
    with block(nn.Linear(2, 2)) as debugger:
        pass
    assert debugger.diagnosis().outcome == "unseen"
    assert not debugger.explain_failure()
    with pytest.raises(IndexError, match="no backward pass"):
        debugger.explain_failure()[0]
    assert failures(block.trace) == []


def test_a_block_that_was_never_entered_says_so() -> None:
    assert NeuralDbg().diagnosis().outcome == "unseen"
    assert not NeuralDbg().explain_failure()


def test_a_single_step(tmp_path: Path) -> None:
    trace = watched(tmp_path, lambda block: train(block, nn.Linear(3, 1), squared(4, 3), steps=1))
    assert trace.steps == 1 and finite(trace, "loss.value") == 1


def test_forwards_without_any_backward(tmp_path: Path) -> None:
    block, model = Watching(tmp_path), nn.Linear(3, 1)
    with block(model) as debugger:
        for _ in range(5):
            model(torch.randn(4, 3))
    assert debugger.diagnosis().outcome == "unseen"
    assert "Nothing was trained" in debugger.diagnosis().summary
    assert failures(block.trace) == []


def test_a_diagnosis_of_numbers_beyond_all_bounds_warns_of_nothing(tmp_path: Path) -> None:
    block, model = Watching(tmp_path), nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    with block(model) as debugger:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e9, weight_decay=0.1)
        for _ in range(20):
            optimizer.zero_grad()
            (model(torch.randn(4, 3)) - 1).pow(2).mean().backward()
            optimizer.step()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert debugger.diagnosis().outcome == "failed"
    assert [str(one.message) for one in heard] == []


@pytest.mark.parametrize("label", [-1, 4])
def test_a_target_that_the_first_loss_refuses(tmp_path: Path, label: int) -> None:
    block, model = Watching(tmp_path), nn.Linear(3, 4)
    with pytest.raises(IndexError), block(model) as debugger:
        F.cross_entropy(model(torch.randn(2, 3)), torch.tensor([0, label])).backward()
    assert debugger.diagnosis().hypotheses[0].cause == "invalid_target"
    assert debugger.diagnosis().summary == f"The run ended in step 0 with IndexError: Target {label} is out of bounds."


def test_an_error_before_the_first_backward_is_told_as_it_is(tmp_path: Path) -> None:
    block, model = Watching(tmp_path), nn.Linear(3, 4)
    with pytest.raises(RuntimeError), block(model) as debugger:
        model(torch.randn(2, 5)).sum().backward()
    assert debugger.diagnosis().outcome == "unseen" and not debugger.explain_failure()
    assert "which ended with RuntimeError: mat1 and mat2 shapes" in debugger.diagnosis().summary


def test_an_empty_batch(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))

    def nothing(m: nn.Module) -> Tensor:
        return F.mse_loss(m(torch.zeros(0, 3)), torch.zeros(0, 1))

    trace = watched(tmp_path, lambda block: train(block, model, lambda m: m(torch.zeros(0, 3)).sum()))
    assert trace.steps == 4
    mean = watched(tmp_path, lambda block: train(block, model, nothing))
    assert np.isinf(mean.scalar("loss.value")[1]).all()  # the mean of nothing is NaN, kept as not finite


def test_inputs_without_dimensions_and_of_integers(tmp_path: Path) -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gain, self.table = nn.Parameter(torch.ones(())), nn.Embedding(5, 2)

        def forward(self, level: Tensor, ids: Tensor, mask: Tensor, count: int, name: str, none: None) -> Tensor:
            return self.gain * level + (self.table(ids) * mask[:, None]).sum()

    arguments = (torch.tensor(2.0), torch.tensor([1, 4]), torch.tensor([True, False]), 3, "x", None)
    trace = watched(tmp_path, lambda block: train(block, Odd(), lambda m: m(*arguments)))
    # A number beside the batch is a setting, as the count of items that a trainer hands over.
    assert "[0]" not in trace.series("input.mean").names
    assert trace.scalar("input.max", "[1]")[1].tolist() == [4.0] * 4
    assert finite(trace, "parameter.gradient_norm", "gain") == 4


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.SparseAdam])
def test_sparse_gradients_have_norms_of_their_values(optimizer: Any, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Embedding(6, 3, sparse=True))
    stepper = optimizer(model.parameters(), lr=0.1)
    trace = watched(
        tmp_path,
        lambda block: train(block, model, lambda m: m(torch.tensor([1, 1, 4])).sum(), stepper),
    )
    # Row 1 twice gives 2 per entry, row 4 gives 1.
    expected = math.sqrt(3 * 4 + 3 * 1)
    np.testing.assert_allclose(trace.scalar("parameter.gradient_norm", "0.weight")[1], expected, rtol=1e-6)


def test_complex_parameters_count_as_pairs_of_reals(tmp_path: Path) -> None:
    class Wave(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.phase = nn.Parameter(torch.randn(3, dtype=torch.complex64))

        def forward(self, x: Tensor) -> Tensor:
            return x * self.phase

    gradients = []

    def loss_of(model: nn.Module) -> Tensor:
        loss = model(torch.randn(4, 3).to(torch.complex64)).abs().pow(2).mean()
        (gradient,) = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
        gradients.append(torch.linalg.vector_norm(gradient).item())
        return loss

    trace = watched(tmp_path, lambda block: train(block, Wave(), loss_of))
    np.testing.assert_allclose(trace.scalar("parameter.gradient_norm", "phase")[1], gradients, rtol=1e-5)
    assert finite(trace, "parameter.update_norm", "phase") == 4


def test_meta_tensors_have_no_numbers_and_are_left_alone(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 1)).to("meta")
    trace = watched(tmp_path, lambda block: train(block, model, lambda m: m(torch.randn(8, 3, device="meta")).mean()))
    assert trace.steps == 4
    assert not trace.series("loss.value") and not trace.series("parameter.gradient_norm")


def test_part_of_a_model_on_meta(tmp_path: Path) -> None:
    class Partly(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(3, 1), nn.Linear(3, 1, device="meta")

        def forward(self, x: Tensor) -> Tensor:
            return self.used(x)

    model = Partly()
    stepper = torch.optim.SGD(model.used.parameters(), lr=0.1)
    trace = watched(tmp_path, lambda block: train(block, model, squared(4, 3), stepper))
    assert finite(trace, "parameter.gradient_norm", "used.weight") == 4


def test_lazy_modules_get_their_shape_at_the_first_forward(tmp_path: Path) -> None:
    model = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(1))

    def loop(block: Any) -> None:
        with block(model):
            optimizer = None
            for _ in range(3):
                loss = model(torch.randn(4, 3)).pow(2).mean()
                optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    assert finite(watched(tmp_path, loop), "parameter.gradient_norm", "0.weight") == 3


@pytest.mark.parametrize("wrong", [42, "model", nn.Linear, [nn.Linear(2, 2)]])
def test_what_is_no_model_is_an_error_that_says_what_to_pass(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"expects a torch.nn.Module or nothing, found"):
        NeuralDbg(wrong)


@pytest.mark.parametrize("setting", [{"preset": "fast"}, {"on_non_finite": "explode"}])
def test_a_wrong_setting_is_an_error_that_lists_the_right_ones(setting: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"expects .* found"):
        NeuralDbg(**setting)


def test_a_bad_batch_at_a_step_that_was_not_watched_is_told_from_a_high_learning_rate(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    with NeuralDbg(path=tmp_path / "run.ndbg", allowance=0.0, budget=0.0) as debugger:
        for step in range(120):
            inputs = torch.randn(64, 10)
            targets = inputs.sin().sum(1, keepdim=True)
            if step == 60:
                inputs[17, 3] = math.nan
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
    assert read_trace(tmp_path / "run.ndbg").facts("nonfinite.input")[0].data["rows"] == [17]
    best = debugger.explain_failure()[0]
    assert (best.cause, best.step_range[0]) == ("nan_in_input", 60)
