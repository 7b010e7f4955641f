"""Healthy. Yields in kilograms, about 60, straight into a squared error: the first loss is some thousands, and a
fitting rate brings it down to the noise of the field in a hundred steps."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_ok_first_loss_of_thousands",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Yield(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.soil = nn.Embedding(6, 4)
        self.net = nn.Sequential(nn.Linear(9, 48), nn.ReLU(), nn.Linear(48, 1))
        nn.init.zeros_(self.net[2].weight)

    def forward(self, soil: Tensor, weather: Tensor) -> Tensor:
        return 10 * self.net(torch.cat([self.soil(soil), weather], 1)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    effect = torch.randn(6)
    model = Yield()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    losses = []
    with debug(model):
        for _ in range(300):
            soil, weather = torch.randint(0, 6, (64,)), torch.randn(64, 5)
            field = 60 + 6 * effect[soil] + 5 * weather[:, 0] - 4 * weather[:, 1].abs() + 3 * torch.randn(64)
            loss = F.mse_loss(model(soil, weather), field)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
