"""Counting steps, calls and models, for loops of any shape."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from helpers import loops
from helpers.watching import watched
from neuraldbg.observe.rounds import PATIENCE
from neuraldbg.records import Trace


def counts(trace: Trace) -> tuple[int, int, int, int]:
    """Steps, backwards, optimizer steps, skipped steps."""
    found = trace.meta["counts"]
    return trace.steps, found["backwards"], found["optimizer_steps"], found["skipped_steps"]


def step_numbers(trace: Trace, quantity: str = "loss.value") -> list[int]:
    return trace.series(quantity).steps.tolist()


def infinite(trace: Trace) -> int:
    return int(np.isinf(trace.series("loss.value").values).sum())


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        (loops.mlp_with_dropout, (6, 6, 6, 0)),
        (loops.accumulation, (4, 12, 4, 0)),
        (loops.gan, (5, 10, 10, 0)),
        (loops.checkpointing_reentrant, (4, 4, 4, 0)),
        (loops.checkpointing_without_reentry, (4, 4, 4, 0)),
        (loops.optimizer_in_backward, (5, 5, 20, 0)),
        (loops.retained_graph, (5, 10, 5, 0)),
        (loops.autocast_with_scaler, (8, 8, 8, 2)),
    ],
)
def test_steps_of_each_kind_of_loop(loop: Any, expected: tuple[int, ...], tmp_path: Path) -> None:
    trace = watched(tmp_path, loop)
    assert counts(trace) == expected
    assert sorted(set(step_numbers(trace))) == list(range(expected[0]))
    assert np.isfinite(trace.series("loss.value").values).sum() == expected[1] - infinite(trace)


def test_every_evaluation_of_a_closure_is_a_backward_of_its_step(tmp_path: Path) -> None:
    trace = watched(tmp_path, loops.lbfgs)
    steps, backwards, optimizer_steps, _ = counts(trace)
    assert steps == optimizer_steps == 3 and backwards > 3
    assert sorted(set(step_numbers(trace))) == [0, 1, 2]


def test_five_steps_of_the_critic_for_one_of_the_generator(tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
        first, second = (torch.optim.RMSprop(net.parameters(), lr=1e-3) for net in (generator, critic))
        with block(None):
            for _ in range(4):
                for _ in range(5):
                    second.zero_grad()
                    (critic(generator(torch.randn(8, 2)).detach()).mean() - critic(torch.randn(8, 2)).mean()).backward()
                    second.step()
                first.zero_grad()
                (-critic(generator(torch.randn(8, 2))).mean()).backward()
                first.step()

    trace = watched(tmp_path, loop)
    assert counts(trace) == (20, 24, 24, 0)  # a step of the generator shares a round with the critic's last
    assert trace.scalar("loss.value", "loss")[0].tolist() == list(range(20))
    assert trace.scalar("loss.value", "loss2")[0].tolist() == [4, 9, 14, 19]


def train_once(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(torch.randn(4, 3)).pow(2).mean().backward()
    optimizer.step()


def test_the_same_weights_trained_from_two_lines_count_each_step(tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        with block(model):
            for _ in range(5):
                train_once(model, optimizer)
                train_once(model, optimizer)
            train_once(model, torch.optim.Adam(model.parameters()))

    trace = watched(tmp_path, loop)
    assert counts(trace) == (11, 11, 11, 0)
    assert trace.scalar("gradient.norm", "SGD")[0].tolist() == list(range(10))


@pytest.mark.parametrize("backwards", [3, PATIENCE + 30])
def test_without_an_optimizer_backwards_are_counted(backwards: int, tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        model = nn.Linear(3, 1)
        with block(model):
            for _ in range(backwards):
                model.zero_grad()
                model(torch.randn(4, 3)).pow(2).mean().backward()

    trace = watched(tmp_path, loop)
    assert counts(trace) == (backwards, backwards, 0, 0)
    assert step_numbers(trace) == list(range(backwards))
    assert trace.meta["counts"]["counted_by"] == "backward"


def test_an_optimizer_that_comes_late_goes_on_counting(tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        with block(model):
            for index in range(4 * (PATIENCE + 6)):
                model(torch.randn(4, 3)).pow(2).mean().backward()
                if index % (PATIENCE + 6) == PATIENCE + 5:
                    optimizer.step()
                    optimizer.zero_grad()

    trace = watched(tmp_path, loop)
    numbers = step_numbers(trace)
    assert numbers == sorted(numbers)
    assert trace.steps == PATIENCE + 6 + 3


@pytest.mark.parametrize("loop", [loops.checkpointing_reentrant, loops.checkpointing_without_reentry])
def test_the_second_forward_of_checkpointing_is_not_counted(loop: Any, tmp_path: Path) -> None:
    trace = watched(tmp_path, loop)
    calls = trace.series("module.calls")
    assert np.nanmax(calls.values) == 1
    spread = trace.series("module.output_std").column("head")[0].tolist()
    assert spread == [0, 1, 2, 3]


def test_a_module_called_three_times_has_three_calls_and_both_ends_of_its_gradient(tmp_path: Path) -> None:
    trace = watched(tmp_path, loops.shared_weights)
    assert trace.scalar("module.calls", "shared")[1].tolist()[0] == 3
    assert trace.scalar("module.calls", "embed")[1].tolist()[0] == 1
    assert trace.scalar("module.first_call_gradient_norm", "shared")[1].size
    assert trace.scalar("module.output_gradient_norm", "shared")[1].size


@dataclasses.dataclass
class Answer:
    note: str
    scores: Tensor


class Shapes(nn.Module):
    """A module for each shape of output."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("as_tuple", "as_list", "as_dict", "as_dataclass", "nested"):
            setattr(self, name, Wrap(name))
        self.packed, self.attention = nn.GRU(4, 4), nn.MultiheadAttention(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.as_tuple(x)[1] + self.as_list(x)[0] + self.as_dict(x)["scores"] + self.as_dataclass(x).scores
        y = y + self.nested(x)["inner"][0][0]
        packed, _ = self.packed(pack_padded_sequence(y[None].repeat(3, 1, 1), torch.tensor([3, 2, 2, 1, 1, 1, 1, 1])))
        assert isinstance(packed, PackedSequence)
        attended, _ = self.attention(y[None], y[None], y[None])
        return packed.data.mean() + attended.mean()


class Wrap(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.inner, self.kind = nn.Linear(4, 4), kind

    def forward(self, x: Tensor) -> Any:
        y = self.inner(x).tanh()
        return {
            "as_tuple": (None, y), "as_list": [y], "as_dict": {"note": "", "scores": y},
            "as_dataclass": Answer("", y), "nested": {"inner": [(y, 3)]},
        }[self.kind]  # fmt: skip


def test_outputs_are_found_in_containers(tmp_path: Path) -> None:
    model = Shapes()
    wanted = [name for name, _ in model.named_children()]

    def loop(block: Any) -> None:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with block(model):
            for _ in range(2):
                optimizer.zero_grad()
                model(torch.randn(8, 4)).backward()
                optimizer.step()

    trace = watched(tmp_path, loop)
    for quantity in ("module.output_std", "module.output_gradient_norm"):
        names = trace.series(quantity).names
        assert set(wanted) <= set(names), quantity
        for name in wanted:
            assert np.all(trace.scalar(quantity, name)[1] > 0), (quantity, name)


def test_validation_is_kept_apart(tmp_path: Path) -> None:
    trace = watched(tmp_path, loops.cnn_with_batch_norm)
    assert set(trace.scalar("module.training", "1")[1]) == {1.0}
    assert set(trace.scalar("evaluation.training", "1")[1]) == {0.0}
    assert len(step_numbers(trace, "module.output_std")) == 5
    assert trace.series("evaluation.loss").values.size == 5


class Trainer:
    def __init__(self) -> None:
        self.painter, self.judge = nn.Linear(2, 2), nn.Linear(2, 1)
        self.optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (self.painter, self.judge)]

    def step(self) -> None:
        self.judge(self.painter(torch.randn(4, 2))).mean().backward()
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()


def call(m: nn.Module, x: Tensor) -> Tensor:
    return m(x)


def names(trace: Trace) -> set[str]:
    return {place.name for place in trace.places if place.kind == "parameter"}


def test_one_model_is_found_and_named_as_its_own_modules(tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        with block(None):
            for _ in range(3):
                train_once(network, optimizer)

    assert names(watched(tmp_path, loop)) == {"0.weight", "0.bias", "1.weight", "1.bias"}


def test_several_models_are_named_by_their_variables(tmp_path: Path) -> None:
    trace = watched(tmp_path, loops.gan)
    assert {name.split(".")[0] for name in names(trace)} == {"generator", "critic"}


def test_models_of_an_object_are_named_by_their_attributes(tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        trainer = Trainer()
        with block(None):
            for _ in range(3):
                trainer.step()

    assert names(watched(tmp_path, loop)) == {"painter.weight", "painter.bias", "judge.weight", "judge.bias"}


def test_models_that_pass_through_one_helper_keep_names_of_their_own(tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        left, right = nn.Linear(2, 2), nn.Linear(2, 1)
        both = torch.optim.SGD([*left.parameters(), *right.parameters()], lr=0.1)
        with block(None):
            for _ in range(3):
                both.zero_grad()
                call(right, call(left, torch.randn(4, 2))).mean().backward()
                both.step()

    assert names(watched(tmp_path, loop)) == {"left.weight", "left.bias", "right.weight", "right.bias"}


def test_an_averaged_copy_does_not_rename_the_model(tmp_path: Path) -> None:
    trace = watched(tmp_path, lambda block: loops.averaged_copy(lambda model: block(None)))
    assert {"0.weight", "3.bias"} <= names(trace)


def test_layers_called_one_by_one_are_one_model(tmp_path: Path) -> None:
    def loop(block: Any) -> None:
        model = nn.ModuleDict({"body": nn.Linear(3, 4), "head": nn.Linear(4, 1)})
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with block(None):
            for _ in range(3):
                optimizer.zero_grad()
                F.mse_loss(model["head"](model["body"](torch.randn(4, 3))), torch.zeros(4, 1)).backward()
                optimizer.step()

    assert names(watched(tmp_path, loop)) == {"body.weight", "body.bias", "head.weight", "head.bias"}
