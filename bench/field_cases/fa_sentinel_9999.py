"""River levels are regressed from rainfall. Once in the record the gauge failed and the logger wrote its sentinel 9999
into the target. One batch with it throws a net away that had learned the rest. Repair: drop the sentinel."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_sentinel_9999",
    source="widely reported: sentinel values left in a measured series",
    cause="outlier_batch",
    also=["invalid_target"],
    layer=None,
    onset=(150, 150),
    symptom="loss_spike",
)


class RainToLevel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.filters = nn.Sequential(nn.Conv1d(2, 12, 5), nn.ReLU(), nn.Conv1d(12, 12, 5), nn.ReLU())
        self.level = nn.Sequential(nn.Flatten(), nn.Linear(12 * 16, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, rain: Tensor) -> Tensor:
        return self.level(self.filters(rain)).squeeze(-1)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    decay = 0.85 ** torch.arange(24.0).flip(0)
    rain = torch.randn(6400, 2, 24)
    level = (rain[:, 0] * decay).sum(1) * 0.5 + torch.relu((rain[:, 1] * decay.sqrt()).sum(1)) * 0.5
    usable = torch.ones(6400, dtype=torch.bool)
    level[150 * 20 + 11] = 9999.0
    usable[150 * 20 + 11] = not healthy
    model = RainToLevel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    with debug(model):
        for start in range(0, 6400, 20):
            keep = usable[start : start + 20]
            inputs, target = rain[start : start + 20][keep], level[start : start + 20][keep]
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
