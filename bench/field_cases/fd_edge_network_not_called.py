"""A graph net with a small network for the bonds' kinds. It's built, it's in the optimizer, and forward sums the
neighbours without asking it, so that all bonds count alike. Repair: weight the neighbours by it."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_edge_network_not_called",
    source="compare github.com/NK-CS-ZZL/IAN/issues/9",
    cause="unused_parameters",
    also=[],
    layer=["edge", "edge.0", "edge.2"],
    onset=(0, 0),
    symptom="slow",
)


class BondNet(nn.Module):
    def __init__(self, ask: bool, width: int = 16) -> None:
        super().__init__()
        self.node = nn.Linear(4, width)
        self.edge = nn.Sequential(nn.Linear(3, 12), nn.Softplus(), nn.Linear(12, width))
        self.join = nn.Linear(2 * width, width)
        self.out = nn.Linear(width, 1)
        self.ask = ask

    def forward(self, nodes: Tensor, bonds: Tensor) -> Tensor:
        h = self.node(nodes)
        if self.ask:
            heard = torch.einsum("bijc,bjc->bic", self.edge(bonds) * bonds.sum(3, keepdim=True), h)
        else:
            heard = bonds.sum(3) @ h
        return self.out(F.elu(self.join(torch.cat([h, heard], 2)))).mean((1, 2))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    strength = torch.tensor([1.5, -1.0, 0.2])
    model = BondNet(ask=healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            nodes = torch.randn(48, 7, 4)
            kind = F.one_hot(torch.randint(0, 3, (48, 7, 7)), 3).float()
            bonds = kind * (torch.rand(48, 7, 7, 1) < 0.4)
            target = ((bonds @ strength) @ nodes[..., :1]).mean((1, 2)) * 2
            loss = F.mse_loss(model(nodes, bonds), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
