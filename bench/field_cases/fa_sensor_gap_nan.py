"""A weather station streams windows of five sensors into a GRU that forecasts the next value. One sensor loses its
link for a while and the gap is stored as NaN; nobody filled it. Repair: carry the last reading forward."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_sensor_gap_nan",
    source="widely reported: unfilled gaps of a time series turn a recurrent net to NaN",
    cause="nan_in_input",
    also=[],
    layer=None,
    onset=(70, 72),
    symptom="loss_nan",
)


class Forecaster(nn.Module):
    def __init__(self, sensors: int = 5, hidden: int = 24) -> None:
        super().__init__()
        self.gru = nn.GRU(sensors, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, sensors)

    def forward(self, window: Tensor) -> Tensor:
        states, _ = self.gru(window)
        return self.readout(states[:, -1])


def record(length: int, healthy: bool) -> Tensor:
    time = torch.arange(float(length)).unsqueeze(1)
    series = torch.sin(time * torch.tensor([0.31, 0.17, 0.23, 0.41, 0.11])) + 0.1 * torch.randn(length, 5)
    gap = slice(71 * 16 + 3, 71 * 16 + 9)
    series[gap, 2] = series[gap.start - 1, 2] if healthy else float("nan")
    return series


def windows(series: Tensor, batch: int = 16, length: int = 12) -> Iterator[tuple[Tensor, Tensor]]:
    for start in range(0, len(series) - batch - length, batch):
        rows = [series[start + k : start + k + length] for k in range(batch)]
        yield torch.stack(rows), series[start + length : start + length + batch]


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    series = record(3200, healthy)
    model = Forecaster()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for window, following in windows(series):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(window), following)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
