"""Convolutions that should measure the power in a band of a signal, with batch norm and average pooling between them
and no activation anywhere. Power is a square, and the stack is linear in each signal: the loss stays at the variance
of the target. Repair: an activation after each norm."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_linear_conv_energy",
    source="a public report",
    cause="missing_nonlinearity",
    also=[],
    layer=["features", *[f"features.{i}" for i in range(7)], "head", ""],
    onset=(0, 0),
    symptom="loss_plateau",
)


class BandPower(nn.Module):
    def __init__(self, activation: type[nn.Module]) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 12, 9, padding=4),
            nn.BatchNorm1d(12),
            activation(),
            nn.Conv1d(12, 12, 5, padding=2),
            nn.BatchNorm1d(12),
            activation(),
            nn.AdaptiveAvgPool1d(4),
        )
        self.head = nn.Linear(48, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).flatten(1)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = BandPower(nn.SiLU if healthy else nn.Identity)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            loud = 2 * torch.rand(24, 1)
            time = torch.arange(40.0)
            tone = loud * torch.sin(0.9 * time + 6.28 * torch.rand(24, 1))
            x = tone + torch.sin(0.2 * time + 6.28 * torch.rand(24, 1)) + 0.3 * torch.randn(24, 40)
            loss = F.mse_loss(model(x[:, None]), (loud.squeeze(1).square() - 1.33) / 1.2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
