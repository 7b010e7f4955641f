"""Healthy. A mixture density net on a narrow curve: its negative log-likelihood falls through zero and goes on."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_ok_density_below_zero",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class MixtureDensity(nn.Module):
    def __init__(self, parts: int = 3) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 3 * parts))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        weight, mean, log_spread = self.net(x).chunk(3, 1)
        log_spread = log_spread.clamp(-4, 3)
        each = -0.5 * ((y - mean) / log_spread.exp()).square() - log_spread - 0.9189
        return -torch.logsumexp(F.log_softmax(weight, 1) + each, 1).mean()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = MixtureDensity()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(450):
            x = 2 * torch.rand(96, 1) - 1
            y = (x.square() - 0.3) * torch.randn(96, 1).sign() + 0.04 * torch.randn(96, 1)
            loss = model(x, y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimizer.step()
            losses.append(loss.item())
    return losses
