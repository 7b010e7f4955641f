"""Regression of a property of a point cloud with a permutation-invariant net and SGD with momentum at 1.0. The loss
grows by large factors within the first dozen steps, reaches infinity, and every parameter is NaN from then on.
Repair: 0.01."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_lr_high_point_cloud",
    source="a public report",
    cause="learning_rate_too_high",
    also=[],
    layer=None,
    onset=(0, 10),
    symptom="loss_nan",
)


class SetRegressor(nn.Module):
    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.each = nn.Sequential(nn.Linear(3, width), nn.LeakyReLU(0.1), nn.Linear(width, width), nn.LeakyReLU(0.1))
        self.whole = nn.Sequential(nn.Linear(width, width), nn.LeakyReLU(0.1), nn.Linear(width, 1))

    def forward(self, points: Tensor) -> Tensor:
        return self.whole(self.each(points).mean(dim=1)).squeeze(-1)


def clouds(count: int) -> tuple[Tensor, Tensor]:
    stretch = 0.4 + 1.2 * torch.rand(count, 1, 3)
    points = stretch * torch.randn(count, 24, 3)
    size = stretch.squeeze(1).prod(dim=1)
    return points, (size - 1.0) / 0.6


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = SetRegressor()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01 if healthy else 1.0, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(300):
            points, size = clouds(32)
            loss = F.mse_loss(model(points), size)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
