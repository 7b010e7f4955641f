"""AdaptiveGradient: what it raises, what it lowers, and what it leaves alone."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.optim import optimizer as optimizer_hooks

from neuraldbg.errors import UsageError
from neuraldbg.remedies import AdaptiveGradient


def feed(remedy: AdaptiveGradient, parameter: torch.Tensor, norms: list[float]) -> list[float]:
    """Gradients of given norms, one step each; returns the norms after the correction."""
    after = []
    for norm in norms:
        parameter.grad = torch.zeros_like(parameter)
        parameter.grad.view(-1)[0] = norm
        remedy.correct()
        after.append(float(parameter.grad.norm()))
    return after


@pytest.fixture
def setting():
    model = nn.Linear(3, 1, bias=False)
    return AdaptiveGradient(model, alpha=0.1, beta=2.0, wait=5), model.weight


def test_ordinary_gradients_pass_as_they_are(setting):
    remedy, weight = setting
    norms = [1.0, 1.2, 0.8, 0.3, 2.0, 1.0, 0.5, 4.0, 1.0]
    assert feed(remedy, weight, norms) == pytest.approx(norms)
    assert remedy.raised == remedy.lowered == 0


def test_a_small_gradient_is_raised_by_beta_and_never_beyond_the_floor(setting):
    remedy, weight = setting
    feed(remedy, weight, [1.0] * 10)
    assert remedy.average(weight) == pytest.approx(1.0)
    assert feed(remedy, weight, [0.001])[0] == pytest.approx(0.002)
    floor = 0.1 * remedy.average(weight)
    assert feed(remedy, weight, [0.9 * floor])[0] == pytest.approx(floor)
    assert remedy.raised == 2


def test_a_large_gradient_is_lowered_by_beta_and_never_below_the_ceiling(setting):
    remedy, weight = setting
    feed(remedy, weight, [1.0] * 10)
    assert feed(remedy, weight, [1000.0])[0] == pytest.approx(500.0)
    assert remedy.lowered == 1
    fresh = AdaptiveGradient(setting[0]._model, ceiling=10.0, wait=5)
    feed(fresh, weight, [1.0] * 10)
    assert feed(fresh, weight, [11.0])[0] == pytest.approx(10.0)


def test_what_is_not_finite_or_zero_is_left_and_not_remembered(setting):
    remedy, weight = setting
    feed(remedy, weight, [1.0] * 10)
    after = feed(remedy, weight, [math.nan, math.inf, 0.0])
    assert math.isnan(after[0]) and math.isinf(after[1]) and after[2] == 0
    assert remedy.average(weight) == pytest.approx(1.0)


def test_nothing_is_corrected_before_there_is_an_average(setting):
    remedy, weight = setting
    assert feed(remedy, weight, [1.0, 1e-6, 1e6]) == pytest.approx([1.0, 1e-6, 1e6])
    assert math.isnan(AdaptiveGradient(nn.Linear(1, 1)).average(weight))


def test_the_block_acts_at_each_step_on_its_own_model_only():
    model, other = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.0) for one in (model, other)]
    hooks = len(optimizer_hooks._global_optimizer_pre_hooks)
    with AdaptiveGradient(model, wait=1) as remedy:
        for scale in (1.0, 1e-4):
            for one, optimizer in zip((model, other), optimizers):
                optimizer.zero_grad()
                (scale * one(torch.ones(1, 2))).sum().backward()
                optimizer.step()
        assert model.weight.grad[0, 0] == pytest.approx(2e-4)
        assert other.weight.grad[0, 0] == pytest.approx(1e-4)
    assert remedy.raised == 2  # weight and bias
    with pytest.raises(ZeroDivisionError), remedy:
        1 / 0  # noqa: B018
    assert len(optimizer_hooks._global_optimizer_pre_hooks) == hooks


@pytest.mark.parametrize("wrong", [{"alpha": 1.0}, {"alpha": -0.1}, {"beta": 1.0}, {"decay": 1.0}, {"ceiling": 0.5}])
def test_an_argument_out_of_range_is_a_mistake(wrong):
    with pytest.raises(UsageError, match="expects"):
        AdaptiveGradient(nn.Linear(1, 1), **wrong)


def test_it_wants_a_model():
    with pytest.raises(UsageError, match="found int"):
        AdaptiveGradient(3)
