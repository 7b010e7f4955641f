"""A mixture of experts whose router divides its scores by a temperature of 0.002. The softmax is one or zero from
the first step, the router gets no gradient, and the experts keep the cut that chance made. Repair: a temperature of
one."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_router_temperature",
    source="widely reported: a temperature near zero, a softmax that is one-hot and passes no gradient",
    cause="saturating_activation",
    also=["init_too_large"],
    layer=["router", "softmax"],
    onset=(0, 0),
    symptom="slow",
)


class Routed(nn.Module):
    def __init__(self, temperature: float, experts: int = 4) -> None:
        super().__init__()
        self.router = nn.Linear(12, experts)
        self.softmax = nn.Softmax(dim=1)
        self.experts = nn.ModuleList([nn.Linear(12, 1) for _ in range(experts)])
        self.temperature = temperature

    def forward(self, x: Tensor) -> Tensor:
        share = self.softmax(self.router(x) / self.temperature)
        return (share * torch.cat([e(x) for e in self.experts], 1)).sum(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    slopes, where = 2 * torch.randn(4, 12), 3 * torch.randn(12, 4)
    model = Routed(1.0 if healthy else 0.002)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(500):
            x = torch.randn(96, 12)
            y = (x * slopes[(x @ where).argmax(1)]).sum(1) / 5
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
