"""Healthy. AdamW with a weight decay of 0.3 and an epsilon of 1e-3, both far from the defaults and both fine here: the
weights shrink by a third, rare parameters move slowly, and the loss falls to the noise."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fb_ok_strong_decay_large_epsilon",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class QuantileNet(nn.Module):
    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, width), nn.Mish(), nn.Linear(width, width), nn.Mish())
        self.quantile = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.quantile(self.body(x))


def pinball(guess: Tensor, target: Tensor) -> Tensor:
    level = torch.tensor([0.1, 0.5, 0.9])
    miss = target[:, None] - guess
    return torch.maximum(level * miss, (level - 1) * miss).mean()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = QuantileNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.3, eps=1e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            x = torch.randn(64, 5)
            target = 2 * torch.sin(x[:, 0]) + x[:, 1] + 0.3 * x[:, 2].exp().clamp(max=3) * torch.randn(64)
            loss = pinball(model(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
