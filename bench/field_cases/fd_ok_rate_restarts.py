"""Healthy. Cosine annealing with warm restarts: at each restart the rate leaps to forty times what it was and the
loss hops, then it falls below where it had been."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_ok_rate_restarts",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Mix(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 12, 3, padding=1)
        self.norm = nn.GroupNorm(3, 12)
        self.point = nn.Conv2d(12, 24, 1)
        self.out = nn.Linear(24, 6)

    def forward(self, x: Tensor) -> Tensor:
        h = F.gelu(self.norm(self.stem(x)))
        return self.out(F.gelu(self.point(h)).amax((2, 3)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    kernel = torch.randn(6, 1, 3, 3)
    model = Mix()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 60, 2, eta_min=0.005)
    losses = []
    with debug(model):
        for _ in range(420):
            label = torch.randint(0, 6, (16,))
            noise = torch.randn(16, 1, 12, 12)
            x = torch.cat([F.conv2d(n[None], kernel[k][None]) for n, k in zip(noise, label)]) / 2
            loss = F.cross_entropy(model(x), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    return losses
