"""Healthy. Ages between 18 and 80 are regressed as they are with Adam at 0.01. The first loss is above a thousand, and
the output's bias alone takes a good part of it away; then the net learns."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_ok_ages_around_forty",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class AgeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.age = nn.Linear(64, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.age(self.body(x)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    x = torch.randn(1500, 12)
    age = (42 + 9 * x[:, 0] - 6 * x[:, 1] + 5 * (x[:, 2] * x[:, 3]) + 2 * torch.randn(1500)).clamp(18, 80)
    model = AgeNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(400):
            rows = torch.randint(0, 1500, (32,))
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[rows]), age[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
