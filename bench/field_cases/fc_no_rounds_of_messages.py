"""A graph classifier takes the number of rounds of message passing from a configuration in which it is zero. Its graph
layers are built and handed to the optimizer, and no forward calls them: a node sees only itself, and the label depends
on the neighbours. Repair: two rounds."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fc_no_rounds_of_messages",
    source="compare github.com/inria-thoth/HySUPP/issues/3: a layer that no forward calls",
    cause="unused_parameters",
    also=[],
    layer=["rounds", "rounds.0", "rounds.1", "rounds.0.near", "rounds.1.near", "rounds.0.own", "rounds.1.own"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Round(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.own, self.near = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, h: Tensor, adjacency: Tensor) -> Tensor:
        return h + F.relu(self.own(h) + self.near(adjacency @ h))


class NodeClassifier(nn.Module):
    def __init__(self, features: int, width: int, rounds: int) -> None:
        super().__init__()
        self.enter = nn.Linear(features, width)
        self.rounds = nn.ModuleList([Round(width) for _ in range(2)])
        self.number_of_rounds = rounds
        self.leave = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        h = F.relu(self.enter(x))
        for layer in self.rounds[: self.number_of_rounds]:
            h = layer(h, adjacency)
        return self.leave(h)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    x = torch.randn(150, 6)
    adjacency = (torch.rand(150, 150) < 0.03).float()
    adjacency = ((adjacency + adjacency.t()) > 0).float()
    adjacency.fill_diagonal_(0)
    adjacency = adjacency / adjacency.sum(1, keepdim=True).clamp(min=1)
    label = (adjacency @ x @ torch.randn(6, 3)).argmax(1)
    model = NodeClassifier(6, 24, rounds=2 if healthy else 0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=5e-4)
    losses = []
    with debug(model):
        for _ in range(220):
            seen = torch.randint(0, 150, (60,))
            optimizer.zero_grad()
            noisy = x + 0.5 * torch.randn_like(x)
            loss = F.cross_entropy(model(noisy, adjacency)[seen], label[seen])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
