"""Is the forecast honest, and is it worth anything: calibration of its intervals, and a small backtest."""

from __future__ import annotations

import torch
from data import Windows
from model import Forecaster, negative_log_likelihood
from torch import Tensor

LEVELS = torch.arange(1, 10) / 10


@torch.no_grad()
def evaluate(model: Forecaster, windows: Windows, trade: bool = True) -> dict[str, float]:
    """Likelihood and calibration error on windows that were not trained on; a backtest where targets are returns."""
    model.eval()
    forecast = model(windows.inputs, windows.times)
    loss = negative_log_likelihood(forecast, windows.targets)
    probabilities = distribution_function(forecast, windows.targets)
    model.train()
    judged = {
        "negative log-likelihood": float(loss),
        "calibration error": float(calibration_error(probabilities)),
    }
    return {**judged, **backtest(forecast, windows.targets)} if trade else judged


def distribution_function(forecast: tuple[Tensor, Tensor, Tensor], targets: Tensor) -> Tensor:
    """P(y <= target) under the forecast; shape (samples, horizons). Uniform where the forecast is right."""
    log_weights, means, deviations = forecast
    normal = torch.distributions.Normal(means, deviations, validate_args=False)
    return (log_weights.exp() * normal.cdf(targets[..., None])).sum(-1)


def calibration_error(probabilities: Tensor) -> Tensor:
    """Expected calibration error of central intervals: mean over levels of |share inside - level|."""
    inside = [((probabilities - 0.5).abs() <= level / 2).float().mean() - level for level in LEVELS]
    return torch.stack(inside).abs().mean()


def backtest(forecast: tuple[Tensor, Tensor, Tensor], targets: Tensor, cost: float = 0.02) -> dict[str, float]:
    """Trade the one-step forecast: the position is mean over deviation, cut at one; each change of it costs.

    Everything is in units of the spread of one step's return; ``sharpe`` is mean over spread per step.
    """
    log_weights, means, deviations = forecast
    mean = (log_weights.exp() * means).sum(-1)[:, 0]
    position = (mean / deviations.mean(-1)[:, 0]).clamp(-1, 1)
    earned = position * targets[:, 0] - cost * torch.diff(position, prepend=position[:1]).abs()
    return {"earned per step": float(earned.mean()), "sharpe": float(earned.mean() / earned.std().clamp_min(1e-9))}
