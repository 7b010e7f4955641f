"""Series to forecast: noisy sines, and bars of open, high, low, close and volume from a generator."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

#: Steps ahead that are forecast at once.
HORIZONS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Windows:
    """Samples for P(y at t+h | x up to t)."""

    #: Features up to t; shape (samples, length, features).
    inputs: Tensor
    #: Number of the bar of each position, for the encoding of time; shape (samples, length).
    times: Tensor
    #: What is forecast; shape (samples, horizons).
    targets: Tensor

    def __len__(self) -> int:
        return len(self.inputs)

    def split(self, share: float = 0.8) -> tuple[Windows, Windows]:
        """The first part and the rest, in the order of time: no sample of the rest is older than one of the first."""
        at = int(len(self) * share)
        return (
            Windows(self.inputs[:at], self.times[:at], self.targets[:at]),
            Windows(self.inputs[at:], self.times[at:], self.targets[at:]),
        )


def sines(count: int = 2000, seed: int = 0) -> Tensor:
    """Two sines and noise whose size changes with the first; shape (count,)."""
    generator = torch.Generator().manual_seed(seed)
    time = torch.arange(count, dtype=torch.float32)
    slow = torch.sin(2 * math.pi * time / 48)
    noise = torch.randn(count, generator=generator) * (0.04 + 0.2 * (slow > 0))
    return slow + 0.5 * torch.sin(2 * math.pi * time / 17 + 1) + noise


def bars(count: int = 2000, seed: int = 0) -> Tensor:
    """Bars of a price that starts at 20,000: open, high, low, close, volume; shape (count, 5).

    Volatility comes in clusters, and returns have a little memory, so that there is something to learn.
    """
    generator = torch.Generator().manual_seed(seed)
    shocks = torch.randn(count, 3, generator=generator)
    volatility, drift, price = 0.01, 0.0, 20_000.0
    rows = []
    for shock, wick, traded in shocks.tolist():
        volatility = 0.0005 + 0.9 * volatility + 0.1 * 0.01 * abs(shock)
        drift = 0.6 * drift + volatility * shock
        opened, price = price, price * math.exp(drift)
        span = volatility * abs(wick) * price
        volume = 1e6 * math.exp(0.5 * traded + 20 * volatility)
        rows.append((opened, max(opened, price) + span, min(opened, price) - span, price, volume))
    return torch.tensor(rows)


def windows_of_sines(length: int = 32, count: int = 2000, seed: int = 0) -> Windows:
    """The sines themselves as feature and target."""
    series = sines(count, seed)
    return _windows(series[:, None], series, length)


def windows_of_bars(length: int = 32, count: int = 2000, seed: int = 0, raw: bool = False) -> Windows:
    """Returns to forecast, in units of their spread over the first four fifths.

    Args:
        length: bars in a window.
        count: bars in the series.
        seed: of the generator.
        raw: features as they come, prices in the ten thousands and volumes in the millions, rather than log returns and
            log volumes brought to mean 0 and spread 1.
    """
    table = bars(count, seed)
    close = table[:, 3].log()
    returns = torch.diff(close, prepend=close[:1])
    past = int(count * 0.8)
    if raw:
        features = table
    else:
        ranges = (table[:, 1] / table[:, 2]).log()
        features = torch.stack([returns, ranges, table[:, 4].log()], dim=1)
        features = (features - features[:past].mean(0)) / features[:past].std(0)
    return _windows(features, returns / returns[:past].std(), length)


def _windows(features: Tensor, targets: Tensor, length: int) -> Windows:
    starts = range(0, len(features) - length - max(HORIZONS))
    return Windows(
        torch.stack([features[start : start + length] for start in starts]),
        torch.stack([torch.arange(start, start + length) for start in starts]),
        torch.stack([targets[[start + length - 1 + h for h in HORIZONS]] for start in starts]),
    )
