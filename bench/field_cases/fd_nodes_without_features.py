"""A graph net on graphs without node features: every node gets a one, and the neighbours are averaged. The mean of
ones is one, whatever the graph, so that all graphs look alike. Repair: the degree as the node's feature."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_nodes_without_features",
    source="widely reported: all-ones node features and mean aggregation, one output for every graph",
    cause="constant_input",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class MeanNet(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Linear(1, width)
        self.rounds = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.out = nn.Linear(width, 2)

    def forward(self, nodes: Tensor, links: Tensor) -> Tensor:
        mean = links / links.sum(2, keepdim=True).clamp(min=1)
        h = F.relu(self.embed(nodes))
        for layer in self.rounds:
            h = F.relu(layer(mean @ h)) + h
        return self.out(h.mean(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = MeanNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            kind = torch.randint(0, 2, (24,))
            links = (torch.rand(24, 14, 14) < 0.30).float().triu(1)
            hub = (torch.rand(24, 14) < 0.8).float() * kind.unsqueeze(1)
            links[:, 0, 1:] = torch.maximum(links[:, 0, 1:], hub[:, 1:])
            links = links + links.transpose(1, 2)
            links[:, torch.arange(14), torch.arange(14)] = 1.0
            nodes = links.sum(2, keepdim=True) / 5 - 1 if healthy else torch.ones(24, 14, 1)
            loss = F.cross_entropy(model(nodes, links), kind)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
