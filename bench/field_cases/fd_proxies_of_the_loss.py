"""Metric learning with a loss that has weights of its own, one proxy a class. The optimizer was given the net's
parameters and not the loss's; with proxies that lie almost on one another, to begin with, no class comes apart.
Repair: both."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_proxies_of_the_loss",
    source="widely reported: a loss with weights (proxies, centres, ArcFace) that no optimizer holds",
    cause="parameters_not_in_optimizer",
    also=[],
    layer=["proxy_loss", "proxy_loss.proxies"],
    onset=(0, 0),
    symptom="slow",
)


class ProxyLoss(nn.Module):
    def __init__(self, classes: int, width: int) -> None:
        super().__init__()
        start = torch.zeros(classes, width)
        start[:, 0] = 1.0
        self.proxies = nn.Parameter(start + 0.02 * torch.randn(classes, width))

    def forward(self, embedding: Tensor, label: Tensor) -> Tensor:
        distance = torch.cdist(F.normalize(embedding, dim=1), F.normalize(self.proxies, dim=1)).square()
        return F.cross_entropy(-8 * distance, label)


class Metric(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 12))
        self.proxy_loss = ProxyLoss(8, 12)

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        return self.proxy_loss(self.net(x), label)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    prototype = torch.randn(8, 24)
    model = Metric()
    optimizer = torch.optim.Adam((model if healthy else model.net).parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            label = torch.randint(0, 8, (48,))
            x = prototype[label] + 0.5 * torch.randn(48, 24)
            loss = model(x, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
