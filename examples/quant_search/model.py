"""A probabilistic transformer for time series: P(y at t+h | x up to t) as a normal distribution, or a mixture."""

from __future__ import annotations

import math
from typing import Literal

import torch
from data import HORIZONS
from torch import Tensor, nn
from torch.nn import functional


class Encoding(nn.Module):
    """Features, the time of day and week, and the position in the window, added up."""

    def __init__(self, features: int, width: int, length: int) -> None:
        super().__init__()
        self.features = nn.Linear(features, width)
        self.times = nn.Linear(4, width, bias=False)
        position = torch.arange(length)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
        table = torch.stack([position.sin(), position.cos()], dim=-1).reshape(length, width)
        self.register_buffer("positions", table, persistent=False)

    def forward(self, inputs: Tensor, times: Tensor) -> Tensor:
        """Shapes (batch, length, features) and (batch, length) to (batch, length, width)."""
        turns = torch.stack([times / 24, times / 168], dim=-1) * 2 * math.pi
        clock = torch.cat([turns.sin(), turns.cos()], dim=-1)
        return self.features(inputs) + self.times(clock) + self.positions[: inputs.shape[1]]


class Head(nn.Module):
    """Mean and standard deviation per horizon, of one normal distribution or of several with weights.

    ``spread="relu"`` is how one writes it the first time: a standard deviation must not be negative. It may
    not be zero either. ``"softplus"`` with a floor is what it takes.
    """

    def __init__(self, width: int, components: int = 1, spread: Literal["softplus", "relu"] = "softplus") -> None:
        super().__init__()
        self.components = components
        self.spread = spread
        self.linear = nn.Linear(width, 3 * components * len(HORIZONS))

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Shape (batch, width) to log weights, means and deviations, each (batch, horizons, components)."""
        weights, means, raw = self.linear(state).reshape(len(state), len(HORIZONS), self.components, 3).unbind(-1)
        deviations = functional.relu(raw + 2) if self.spread == "relu" else functional.softplus(raw) + 1e-3
        return functional.log_softmax(weights, dim=-1), means, deviations


class Forecaster(nn.Module):
    """Encoding, a causal transformer encoder, and the head on the last position."""

    def __init__(
        self,
        features: int,
        width: int = 32,
        layers: int = 2,
        length: int = 32,
        components: int = 1,
        spread: Literal["softplus", "relu"] = "softplus",
    ) -> None:
        super().__init__()
        self.encoding = Encoding(features, width, length)
        layer = nn.TransformerEncoderLayer(
            width, nhead=4, dim_feedforward=2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = Head(width, components, spread)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length), persistent=False)

    def forward(self, inputs: Tensor, times: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Shapes (batch, length, features) and (batch, length) to what the head gives."""
        length = inputs.shape[1]
        state = self.encoder(self.encoding(inputs, times), mask=self.mask[:length, :length])
        return self.head(state[:, -1])


def negative_log_likelihood(forecast: tuple[Tensor, Tensor, Tensor], targets: Tensor) -> Tensor:
    """Mean over samples and horizons of -log P(target); a mixture is summed in the log domain."""
    log_weights, means, deviations = forecast
    z = (targets[..., None] - means) / deviations
    log_density = -0.5 * z.square() - torch.log(deviations) - 0.5 * math.log(2 * math.pi)
    if means.shape[-1] == 1:
        return -log_density.mean()
    return -torch.logsumexp(log_weights + log_density, dim=-1).mean()
