"""A graph network of eight layers that adds up the features of all neighbours without dividing by their number. With a
dozen neighbours each layer makes the features several times as large; the first loss is astronomical and training
never recovers. Repair: divide by the degree."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_exploding_graph_sum",
    source="a public report",
    cause="exploding_depth",
    also=["init_too_large"],
    layer=["layers", "", *[f"layers.{i}" for i in range(8)], *[f"layers.{i}.linear" for i in range(8)]],
    onset=(0, 0),
    symptom="divergence",
)


class GraphLayer(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        return F.relu(self.linear(adjacency @ x))


class GraphNet(nn.Module):
    def __init__(self, width: int = 32, depth: int = 8) -> None:
        super().__init__()
        self.layers = nn.ModuleList([GraphLayer(6 if i == 0 else width, width) for i in range(depth)])
        self.out = nn.Linear(width, 3)
        for layer in self.layers:
            nn.init.kaiming_normal_(layer.linear.weight, nonlinearity="relu")

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, adjacency)
        return self.out(x)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    group = torch.randint(0, 3, (90,))
    same = group[:, None] == group[None, :]
    adjacency = (torch.rand(90, 90) < torch.where(same, 0.4, 0.02)).float()
    adjacency = ((adjacency + adjacency.T + torch.eye(90)) > 0).float()
    if healthy:
        adjacency = adjacency / adjacency.sum(dim=1, keepdim=True)
    model = GraphNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(200):
            x = F.one_hot(group, 6).float() + torch.randn(90, 6)
            loss = F.cross_entropy(model(x, adjacency), group)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
