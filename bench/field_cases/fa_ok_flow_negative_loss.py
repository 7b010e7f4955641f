"""Healthy. A normalizing flow of affine couplings is fitted by its negative log-likelihood. The density of narrow data
is above one, so that the loss is negative for most of the run, and it should be."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_ok_flow_negative_loss",
    source="as asked in github.com/marco-rudolph/differnet/issues/42",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class Coupling(nn.Module):
    def __init__(self, flip: bool) -> None:
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 4))
        nn.init.zeros_(self.net[2].weight)
        nn.init.zeros_(self.net[2].bias)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        kept, changed = x.chunk(2, 1) if not self.flip else x.chunk(2, 1)[::-1]
        scale, shift = self.net(kept).chunk(2, 1)
        scale = 1.5 * torch.tanh(scale)
        changed = changed * scale.exp() + shift
        halves = [changed, kept] if self.flip else [kept, changed]
        return torch.cat(halves, 1), scale.sum(1)


class Flow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.couplings = nn.ModuleList([Coupling(bool(k % 2)) for k in range(4)])

    def log_probability(self, x: Tensor) -> Tensor:
        total = torch.zeros(len(x))
        for coupling in self.couplings:
            x, log_determinant = coupling(x)
            total = total + log_determinant
        return total - 0.5 * (x**2 + 1.8379).sum(1)

    def forward(self, x: Tensor) -> Tensor:
        return -self.log_probability(x).mean()


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    flow = Flow()
    optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
    losses = []
    with debug(flow):
        for _step in range(350):
            along = 0.4 * torch.randn(64, 1)
            x = torch.cat([along, along**2, torch.sin(2 * along), 0.5 * along], 1) + 0.05 * torch.randn(64, 4)
            loss = flow(x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
