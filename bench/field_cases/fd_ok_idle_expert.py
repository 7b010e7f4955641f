"""Healthy. A mixture of four experts with a hard choice of the best one: one or two experts are hardly chosen after
a while and get no gradient. The rest do the work."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_ok_idle_expert",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class TopOne(nn.Module):
    def __init__(self, experts: int = 4) -> None:
        super().__init__()
        self.router = nn.Linear(8, experts)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 3)) for _ in range(experts)]
        )
        with torch.no_grad():
            self.router.bias.copy_(torch.tensor([1.0, 0.5, 0.0, -6.0]))

    def forward(self, x: Tensor) -> Tensor:
        share, choice = self.router(x).softmax(1).max(1)
        out = x.new_zeros(len(x), 3)
        for number, expert in enumerate(self.experts):
            rows = choice == number
            if rows.any():
                out[rows] = expert(x[rows])
        return out * (share / share.detach()).unsqueeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(8, 3)
    model = TopOne()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(96, 8)
            loss = F.cross_entropy(model(x), (x @ rule).argmax(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
