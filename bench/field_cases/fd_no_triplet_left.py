"""A triplet loss that averages over the triplets that are still too close. When the net has become good there are
none in some batch, and the mean of nothing is NaN. Repair: divide by at least one."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_no_triplet_left",
    source="as in github.com/KevinMusgrave/pytorch-metric-learning/issues/107",
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(10, 250),
    symptom="loss_nan",
)


class Embedder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 12))

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(self.net(x), dim=-1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    thing = torch.randn(10, 16) * 0.55
    model = Embedder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            kind = torch.randint(0, 10, (24,))
            unlike = (kind + torch.randint(1, 10, (24,))) % 10
            anchor, positive, negative = (model(thing[k] + 0.3 * torch.randn(24, 16)) for k in (kind, kind, unlike))
            gap = (anchor - positive).square().sum(1) - (anchor - negative).square().sum(1) + 0.9
            active = gap > 0
            total = gap[active].sum()
            loss = total / active.sum().clamp(min=1) if healthy else total / active.sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
