"""A mixture whose experts and router columns were made by copying the first one, "so that all start fair": all
experts get the same gradient and stay one expert. Repair: an initialization each."""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_experts_cloned",
    source="widely reported: experts created by copying one module stay identical",
    cause="symmetric_init",
    also=[],
    layer=["experts", "experts.0", "experts.1", "experts.2", "experts.3", "router", ""],
    onset=(0, 0),
    symptom="slow",
)


class Cloned(nn.Module):
    def __init__(self, clone: bool, experts: int = 4) -> None:
        super().__init__()
        self.router = nn.Linear(6, experts)
        self.experts = nn.ModuleList([nn.Linear(6, 1) for _ in range(experts)])
        if clone:
            self.experts = nn.ModuleList([copy.deepcopy(self.experts[0]) for _ in range(experts)])
            nn.init.zeros_(self.router.weight)
            nn.init.zeros_(self.router.bias)

    def forward(self, x: Tensor) -> Tensor:
        share = self.router(x).softmax(1)
        return (share * torch.cat([e(x) for e in self.experts], 1)).sum(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    slope, where = torch.randn(2, 6), torch.randn(6)
    model = Cloned(clone=not healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(350):
            x = torch.randn(96, 6)
            side = (x @ where > 0).float()
            y = side * (x @ slope[0]) + (1 - side) * (x @ slope[1])
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
