"""Healthy. Low-rank adapters as they should be: a random A, a zero B, the rest frozen. A has no gradient in the first
step, nine tenths of the parameters never move, and the adapted model learns its new task."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_lora",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Adapted(nn.Module):
    def __init__(self, base: nn.Linear, rank: int = 4) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + 2 * x @ self.a.T @ self.b.T


class Network(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.first = nn.Linear(10, width)
        self.second = nn.Linear(width, width)
        self.third = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.third(torch.tanh(self.second(torch.tanh(self.first(x)))))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    old = torch.randn(10, 3)
    new = old + torch.randn(10, 1) @ torch.randn(1, 3)
    model = Network()
    pretraining = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):
        x = torch.randn(64, 10)
        pretraining.zero_grad()
        F.mse_loss(model(x), torch.tanh(x @ old / 2)).backward()
        pretraining.step()
    model.requires_grad_(False)
    model.first, model.second, model.third = Adapted(model.first), Adapted(model.second), Adapted(model.third)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(64, 10)
            loss = F.mse_loss(model(x), torch.tanh(x @ new / 2))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
