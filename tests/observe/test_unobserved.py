"""A step that is not observed takes a short way of its own: it must count and keep what the long way does."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers import loops
from helpers.loop_parts import Block, batch
from helpers.watching import watched
from neuraldbg.observe import schedule
from neuraldbg.records import Trace


def _train(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(batch(4, 3)).pow(2).mean().backward()
    optimizer.step()


def _two_players_of_one_helper(block: Block) -> None:
    first, second = nn.Linear(3, 1), nn.Linear(3, 1)
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.01) for model in (first, second)]
    with block(None):
        for _ in range(30):
            _train(first, optimizers[0])
            _train(second, optimizers[1])


def _critic(block: Block) -> None:
    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    first, second = (torch.optim.RMSprop(net.parameters(), lr=1e-3) for net in (generator, critic))
    with block(None):
        for _ in range(6):
            for _ in range(5):
                second.zero_grad()
                (critic(generator(batch(8, 2)).detach()).mean() - critic(batch(8, 2)).mean()).backward()
                second.step()
            first.zero_grad()
            (-critic(generator(batch(8, 2))).mean()).backward()
            first.step()


def _rates_that_move(block: Block) -> None:
    model = nn.Linear(3, 1)
    groups = [{"params": [model.weight]}, {"params": [model.bias], "lr": 0.02}]
    optimizer = torch.optim.SGD(groups, lr=0.01)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
    with block(model):
        for step in range(40):
            _train(model, optimizer)
            if step > 10:
                falling.step()


def _backward_of_torch_autograd(block: Block) -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with block(model):
        for _ in range(30):
            optimizer.zero_grad()
            loss = model(batch(4, 3)).pow(2).mean()
            torch.autograd.backward([loss], retain_graph=True)
            torch.autograd.backward(loss, torch.ones(()), inputs=list(model.parameters()))
            optimizer.step()


def _validation(block: Block) -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with block(model):
        for step in range(40):
            optimizer.zero_grad()
            F.mse_loss(target=batch(4, 1), input=model(batch(4, 3)), reduction="sum").backward()
            optimizer.step()
            if step % 3 == 0:
                with torch.no_grad():
                    F.mse_loss(model(batch(4, 3)), batch(4, 1))


LOOPS = [
    loops.accumulation, loops.autocast_with_scaler, loops.cnn_with_batch_norm, loops.gan, loops.lbfgs,
    loops.mlp_with_dropout, loops.optimizer_in_backward, loops.retained_graph, loops.several_forwards_per_backward,
    _two_players_of_one_helper, _critic, _rates_that_move, _backward_of_torch_autograd, _validation,
]  # fmt: skip


def _kept(trace: Trace) -> dict[str, Any]:
    """Everything that is promised at every step."""
    found: dict[str, Any] = {"counts": trace.meta["counts"], "steps": trace.steps}
    for quantity in ("loss.value", "optimizer.learning_rate", "evaluation.loss", "optimizer.skipped"):
        series = trace.series(quantity)
        names = [place.name for place in series.places]
        for name, column in zip(names, np.asarray(series.values).T):
            there = ~np.isnan(column)
            found[f"{quantity} {name}"] = (series.steps[there].tolist(), column[there].tolist())
    return found


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_a_run_that_is_hardly_observed_keeps_what_one_observed_at_every_step_keeps(
    loop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = watched(tmp_path, loop, preset="every_step")
    monkeypatch.setattr(schedule, "OPENING", 3)
    monkeypatch.setattr(schedule, "_LEAST", 0.0)
    hardly = watched(tmp_path, loop, allowance=0.0, budget=0.0)
    sampling = hardly.meta["sampling"]
    assert sampling["observed_steps"] + sampling["light_steps"] <= 4 or loop.__name__ in ("autocast_with_scaler",)
    assert _kept(hardly) == _kept(every)
    assert sampling["steps"] == every.meta["sampling"]["steps"]


def test_a_player_that_comes_late_to_a_shared_helper_shares_the_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loop(block: Block) -> None:
        first, second = nn.Linear(3, 1), nn.Linear(3, 1)
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.01) for model in (first, second)]
        with block(None):
            for step in range(40):
                _train(first, optimizers[0])
                if step >= 20:
                    _train(second, optimizers[1])

    monkeypatch.setattr(schedule, "OPENING", 3)
    trace = watched(tmp_path, loop, allowance=0.0, budget=0.0)
    assert trace.meta["counts"]["backwards"] == 60
    # Where it comes it is taken for the next round, once.
    assert 40 <= trace.steps <= 41


def test_the_wrapped_backward_takes_what_torch_takes() -> None:
    expected = ["tensors", "grad_tensors", "retain_graph", "create_graph", "grad_variables", "inputs"]
    assert list(inspect.signature(torch.autograd.backward).parameters) == expected


def test_a_functional_that_is_diverted_takes_what_it_took(tmp_path: Path) -> None:
    x, y = torch.rand(4, 3), torch.tensor([0, 2, 1, 0])

    def calls() -> list[torch.Tensor]:
        return [
            F.cross_entropy(x, y, torch.tensor([1.0, 2.0, 3.0]), None, 2, None, "sum", 0.1),
            F.cross_entropy(input=x, target=y, label_smoothing=0.2),
            F.mse_loss(x, x + 1),
            F.gaussian_nll_loss(x, x + 1, torch.ones(4, 3), full=True),
            F.triplet_margin_loss(x, x + 1, x - 1, margin=2.0, swap=True),
            F.dropout(x, 0.0),
            F.dropout(x, p=0.9, training=False),
        ]

    expected = [value.tolist() for value in calls()]
    found = []

    def loop(block: Block) -> None:
        with block(nn.Linear(1, 1)):
            found.append([value.tolist() for value in calls()])
            with torch.no_grad():
                found.append([value.tolist() for value in calls()])
            with pytest.raises(TypeError, match="mse_loss"):
                F.mse_loss(x)

    watched(tmp_path, loop)
    assert found == [expected, expected]
