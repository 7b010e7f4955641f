"""Bike rentals per hour (hundreds) are regressed as they are with SGD and momentum at the rate of a standard recipe.
The first gradients are hundreds of times too large and the net is thrown to where all its units are off. Repair:
divide the counts by their standard deviation. The returned list is in units of the counts' variance."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_rental_counts_sgd",
    source="widely reported: bike-sharing regression that goes to NaN or to one constant with SGD",
    cause="unscaled_target",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(0, 0),
    symptom="divergence",
)


def rentals(hours: int) -> tuple[Tensor, Tensor]:
    hour = torch.randint(0, 24, (hours,))
    weather = torch.randn(hours, 3)
    angle = hour * 6.2832 / 24
    clock = torch.stack([angle.sin(), angle.cos(), (2 * angle).sin()], dim=1)
    count = 190 + 140 * clock[:, 0] + 70 * clock[:, 2] * weather[:, 0] + 40 * weather[:, 1]
    return torch.cat([clock, weather], dim=1), count.clamp(min=0).unsqueeze(1)


class Trainer:
    def __init__(self, model: nn.Module, rate: float) -> None:
        self.model = model
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
        self.history: list[float] = []

    def step(self, features: Tensor, count: Tensor) -> None:
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(features), count)
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    features, count = rentals(2000)
    if healthy:
        count = (count - count.mean()) / count.std()
    model = nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 20), nn.ReLU(), nn.Linear(20, 1))
    trainer = Trainer(model, rate=0.01)
    with debug(model):
        for _step in range(360):
            rows = torch.randint(0, len(count), (40,))
            trainer.step(features[rows], count[rows])
    unit = count.var().item()
    return [value / unit for value in trainer.history]
