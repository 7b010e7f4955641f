"""A decoder of 28 residual blocks without normalization, each of which adds three times its branch: the signal grows
from block to block and comes out in the millions. Repair: a tenth of the branch."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_residuals_that_double",
    source="widely reported: deep residual nets without normalization or scaling overflow",
    cause="exploding_depth",
    also=["init_too_large"],
    layer=None,
    onset=(0, 2),
    symptom="exploding_gradient",
)


class Residual(nn.Module):
    def __init__(self, channels: int, weight: float) -> None:
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, 3, padding=1)
        self.weight = weight

    def forward(self, x: Tensor) -> Tensor:
        return x + self.weight * F.leaky_relu(self.conv(x))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    weight = 0.1 if healthy else 3.0
    model = nn.Sequential(
        nn.Conv1d(1, 12, 5, padding=2), *[Residual(12, weight) for _ in range(28)], nn.Conv1d(12, 1, 5, padding=2)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(120):
            clean = torch.cumsum(torch.randn(16, 1, 32), 2)
            clean = (clean - clean.mean(2, keepdim=True)) / 4
            loss = F.mse_loss(model(clean + 0.4 * torch.randn_like(clean)), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
