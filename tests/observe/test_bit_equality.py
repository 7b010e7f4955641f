"""A watched run ends with the very numbers that it would have ended with unwatched."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from helpers.loops import LOOPS, alarms, cnn_with_batch_norm, mlp_with_dropout
from helpers.watching import Watching, bare, failures, outcome, same

#: Ways to observe: each step in full, hardly any, none after the opening, whatever the budget of a long run gives.
SCHEDULES: dict[str, dict[str, Any]] = {
    "standard": {},
    "every step": {"preset": "every_step"},
    "light": {"preset": "light"},
    "no allowance": {"allowance": 0.0, "budget": 0.03},
    "nothing after the opening": {"allowance": 0.0, "budget": 0.0},
}


@pytest.mark.parametrize("name", LOOPS)
def test_nothing_changes(name: str, tmp_path: Path) -> None:
    block = Watching(tmp_path)
    assert same(outcome(LOOPS[name], bare), outcome(LOOPS[name], block))
    assert failures(block.trace) == []
    assert block.trace.steps > 0


@pytest.mark.parametrize("name", LOOPS)
def test_finding_the_model_changes_nothing(name: str, tmp_path: Path) -> None:
    block = Watching(tmp_path)
    assert same(outcome(LOOPS[name], bare), outcome(LOOPS[name], lambda model: block(None)))
    assert failures(block.trace) == []


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_schedule_changes_anything(schedule: str, tmp_path: Path) -> None:
    def long(inner: Any) -> list[Any]:
        return [mlp_with_dropout(inner, steps=60), alarms(inner), cnn_with_batch_norm(inner)]

    block = Watching(tmp_path, **SCHEDULES[schedule])
    assert same(outcome(long, bare), outcome(long, block))
    assert failures(block.trace) == []


ACTIVATIONS = (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.ELU, lambda: nn.ReLU(inplace=True), lambda: nn.Dropout(0.3))
OPTIMIZERS = (
    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.5),
    lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True),
    lambda p: torch.optim.Adam(p, lr=0.01, foreach=False),
    lambda p: torch.optim.AdamW(p, lr=0.01, foreach=True),
    lambda p: torch.optim.Rprop(p, lr=0.01),
)
LOSSES = (
    lambda y, t: nn.functional.mse_loss(y, t),
    lambda y, t: (y - t).abs().sum(),
    lambda y, t: -torch.distributions.Normal(y, 1.0).log_prob(t).mean(),
    lambda y, t: nn.functional.cross_entropy(y, t.softmax(1)),
    lambda y, t: nn.functional.kl_div(y.log_softmax(1), t.softmax(1), reduction="batchmean"),
    lambda y, t: nn.functional.binary_cross_entropy(y.sigmoid(), (t > 0).float(), reduction="sum"),
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    widths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    activations=st.lists(st.sampled_from(ACTIVATIONS), min_size=4, max_size=4),
    optimizer=st.sampled_from(OPTIMIZERS),
    loss_of=st.sampled_from(LOSSES),
    dtype=st.sampled_from((torch.float32, torch.float64, torch.bfloat16)),
    normalized=st.booleans(),
    samples=st.integers(2, 5),
    every=st.integers(1, 3),
    validated=st.booleans(),
    poisoned=st.booleans(),
)
def test_generated_loops_end_the_same(
    widths: list[int],
    activations: list[Any],
    optimizer: Any,
    loss_of: Any,
    dtype: torch.dtype,
    normalized: bool,
    samples: int,
    every: int,
    validated: bool,
    poisoned: bool,
) -> None:
    def loop(block: Any) -> list[Any]:
        layers: list[nn.Module] = []
        size = 4
        for width, activation in zip(widths, activations):
            layers += [nn.Linear(size, width), *([nn.LayerNorm(width)] if normalized else []), activation()]
            size = width
        model = nn.Sequential(*layers, nn.Linear(size, 3)).to(dtype)
        stepper = optimizer(model.parameters())
        losses = []
        with block(model):
            for step in range(6):
                inputs = torch.randn(samples, 4, dtype=dtype)
                if poisoned and step == 3:
                    inputs[0, 0] = float("inf")
                loss = loss_of(model(inputs), torch.randn(samples, 3, dtype=dtype))
                loss.backward()
                losses.append(loss.item())
                if step % every == every - 1:
                    stepper.step()
                    stepper.zero_grad()
                if validated:
                    with torch.no_grad():
                        losses.append(loss_of(model(inputs), torch.randn(samples, 3, dtype=dtype)).item())
        return [model.state_dict(), stepper.state_dict(), losses]

    try:
        expected = outcome(loop, bare)
    except Exception as error:
        # What fails bare (a probability that is NaN, say) fails the same way watched.
        with tempfile.TemporaryDirectory() as folder, pytest.raises(type(error)):
            outcome(loop, Watching(Path(folder)))
        return
    with tempfile.TemporaryDirectory() as folder:
        block = Watching(Path(folder))
        assert same(expected, outcome(loop, block))
        assert failures(block.trace) == []
