"""Healthy. Two backward passes a step, the second at weights that were pushed uphill, written by hand: the weights
go up and down within each step, and the loss goes down."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_ok_sharpness_aware",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(14, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU())
        self.kind, self.size = nn.Linear(48, 3), nn.Linear(48, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.trunk(x)
        return self.kind(h), self.size(h).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(14, 4) / 3
    model = Two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(250):
            x = torch.randn(48, 14)
            truth = x @ rule

            def both() -> Tensor:
                kind, size = model(x)
                return F.cross_entropy(kind, truth[:, :3].argmax(1)) + F.mse_loss(size, truth[:, 3])

            loss = both()
            optimizer.zero_grad()
            loss.backward()
            with torch.no_grad():
                norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
                push = [0.05 * p.grad / norm for p in model.parameters()]
                for p, e in zip(model.parameters(), push):
                    p.add_(e)
            optimizer.zero_grad()
            both().backward()
            with torch.no_grad():
                for p, e in zip(model.parameters(), push):
                    p.sub_(e)
            optimizer.step()
            losses.append(loss.item())
    return losses
