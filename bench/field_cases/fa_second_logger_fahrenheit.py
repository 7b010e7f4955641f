"""A plant's sensors are read in order of time. From the second shard on, another data logger writes temperatures in
Fahrenheit and pressures in hectopascal; the scaler was fitted on the first shard. Repair: convert the units of the
second logger."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_second_logger_fahrenheit",
    source="widely reported: units change between files of one data set",
    cause="input_shift",
    also=["unnormalized_input"],
    layer=None,
    onset=(160, 161),
    symptom="loss_spike",
)


class Plant(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 6)) for _ in range(2)])
        self.output = nn.Linear(6, 2)

    def forward(self, readings: Tensor) -> Tensor:
        for block in self.blocks:
            readings = readings + block(readings)
        return self.output(readings)


def shard(rows: int, weight: Tensor) -> tuple[Tensor, Tensor]:
    state = torch.randn(rows, 6)
    readings = torch.cat([22 + 4 * state[:, :3], 1.01 + 0.02 * state[:, 3:]], dim=1)
    return readings, torch.tanh(state @ weight) + 0.05 * torch.randn(rows, 2)


def stream(shards: list[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    for readings, target in shards:
        yield from zip(readings.split(25), target.split(25))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    weight = torch.randn(6, 2) * 0.6
    first, second = shard(4000, weight), shard(4000, weight)
    mean, std = first[0].mean(0), first[0].std(0)
    if not healthy:
        second[0][:, :3] = second[0][:, :3] * 1.8 + 32
        second[0][:, 3:] *= 1000
    model = Plant()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-3)
    losses = []
    with debug(model):
        for readings, target in stream([first, second]):
            optimizer.zero_grad()
            loss = nn.functional.smooth_l1_loss(model((readings - mean) / std), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
