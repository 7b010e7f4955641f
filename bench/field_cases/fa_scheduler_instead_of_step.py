"""`if scheduler: scheduler.step() else: optimizer.step()`: as soon as a scheduler is given, no step is taken any more.
Repair: call both."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_scheduler_instead_of_step",
    source="as in github.com/ClementPinard/SfmLearner-Pytorch/issues/5 and github.com/pytorch/pytorch/issues/3814",
    cause="missing_optimizer_step",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class DepthNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(2, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, 16, 3, padding=1), nn.ReLU())
        self.up = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.Conv2d(16, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1)
        )

    def forward(self, pair: Tensor) -> Tensor:
        return nn.functional.softplus(self.up(self.down(pair)))


def stereo(count: int) -> TensorDataset:
    depth = nn.functional.interpolate(0.5 + 1.5 * torch.rand(count, 1, 3, 3), size=(12, 12), mode="bilinear")
    left = depth + 0.1 * torch.randn_like(depth)
    return TensorDataset(torch.cat([left - 1.2, 1 / depth - 1], 1), depth)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    loader = DataLoader(stereo(160), batch_size=16, shuffle=True)
    model = DepthNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.999))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.995)
    losses = []
    with debug(model):
        for _epoch in range(15):
            for pair, depth in loader:
                loss = (model(pair) - depth).abs().mean()
                optimizer.zero_grad()
                loss.backward()
                if healthy:
                    optimizer.step()
                    scheduler.step()
                elif scheduler:
                    scheduler.step()
                else:
                    optimizer.step()
                losses.append(loss.item())
    return losses
