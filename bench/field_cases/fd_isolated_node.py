"""A graph convolution by hand: the adjacency is normalized by the inverse root of the degrees, without self-loops. A
few molecules come with an atom that has no bond: its degree is zero, the inverse root is infinite, and infinity
times zero goes into the model as NaN. Repair: an infinite inverse root counts as zero."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_isolated_node",
    source="widely reported: D^-1/2 of a graph with isolated nodes gives NaN",
    cause="nan_in_input",
    also=[],
    layer=None,
    onset=(0, 60),
    symptom="loss_nan",
)


class GraphNet(nn.Module):
    def __init__(self, features: int = 7, width: int = 24) -> None:
        super().__init__()
        self.first = nn.Linear(features, width)
        self.second = nn.Linear(width, width)
        self.readout = nn.Linear(width, 1)

    def forward(self, nodes: Tensor, adjacency: Tensor) -> Tensor:
        h = F.relu(adjacency @ self.first(nodes) + self.first(nodes))
        h = F.relu(adjacency @ self.second(h) + h)
        return self.readout(h.mean(1)).squeeze(1)


def normalized(bonds: Tensor, guard: bool) -> Tensor:
    inverse_root = bonds.sum(2).pow(-0.5)
    if guard:
        inverse_root[torch.isinf(inverse_root)] = 0.0
    return inverse_root.unsqueeze(2) * bonds * inverse_root.unsqueeze(1)


def molecules(count: int, size: int = 9) -> tuple[Tensor, Tensor, Tensor]:
    kind = torch.randint(0, 7, (count, size))
    nodes = F.one_hot(kind, 7).float()
    bonds = (torch.rand(count, size, size) < 0.25).float().triu(1)
    bonds[:, torch.arange(size - 1), torch.arange(1, size)] = 1.0
    ion = torch.rand(count) < 0.004
    bonds[ion, :, -1] = 0.0
    bonds = bonds + bonds.transpose(1, 2)
    energy = (torch.linspace(-1, 1, 7)[kind].unsqueeze(1) * bonds).sum((1, 2)) * 0.3
    return nodes, bonds, energy


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    nodes, bonds, energy = molecules(800)
    bonds[37, :, -1] = bonds[37, -1, :] = 0.0
    model = GraphNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for _epoch in range(10):
            for rows in torch.randperm(800).split(20):
                guess = model(nodes[rows], normalized(bonds[rows], healthy))
                loss = F.mse_loss(guess, energy[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
