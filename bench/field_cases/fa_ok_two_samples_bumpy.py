"""Healthy. Two samples per batch: from one step to the next the loss jumps by a factor of ten, and its mean falls
steadily."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_ok_two_samples_bumpy",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class Volume(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv3d(1, 6, 3, padding=1),
            nn.GroupNorm(2, 6),
            nn.ReLU(),
            nn.Conv3d(6, 8, 3, 2, 1),
            nn.GroupNorm(2, 8),
            nn.ReLU(),
        )
        self.age = nn.Linear(8, 1)

    def forward(self, scan: Tensor) -> Tensor:
        return self.age(self.convs(scan).mean((2, 3, 4))).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    age = torch.randn(300)
    coarse = torch.randn(300, 1, 6, 6, 6)
    smooth = nn.functional.avg_pool3d(coarse, 3, 1, 1) * 3
    mix = torch.sigmoid(1.5 * age).view(-1, 1, 1, 1, 1)
    loader = DataLoader(TensorDataset(mix * coarse + (1 - mix) * smooth, age), batch_size=2, shuffle=True)
    model = Volume()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _epoch in range(3):
            for scan, target in loader:
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(scan), target)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
