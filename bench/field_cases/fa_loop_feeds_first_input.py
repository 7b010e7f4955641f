"""A graph network loops over its message-passing layers and feeds each with the input of the first: `out = layer(x)`
instead of `x = layer(x)`. Only the last layer is part of the output, a node sees its neighbours and no farther, and
the label sits three steps away. Repair: pass the state on."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_loop_feeds_first_input",
    source="compare github.com/NK-CS-ZZL/IAN/issues/9: layers whose output is not used",
    cause="unused_parameters",
    also=["detached_graph"],
    layer=[
        "layers",
        "layers.0",
        "layers.1",
        "layers.0.message",
        "layers.1.message",
        "layers.0.own",
        "layers.1.own",
        "",
    ],
    onset=(0, 0),
    symptom="loss_plateau",
)


class MessageLayer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.own = nn.Linear(width, width)
        self.message = nn.Linear(width, width)

    def forward(self, nodes: Tensor, adjacency: Tensor) -> Tensor:
        return torch.tanh(self.own(nodes) + self.message(adjacency @ nodes))


class GraphNet(nn.Module):
    def __init__(self, healthy: bool, width: int = 12) -> None:
        super().__init__()
        self.healthy = healthy
        self.input = nn.Linear(2, width)
        self.layers = nn.ModuleList([MessageLayer(width) for _ in range(3)])
        self.output = nn.Linear(width, 1)

    def forward(self, nodes: Tensor, adjacency: Tensor) -> Tensor:
        x = out = self.input(nodes)
        for layer in self.layers:
            out = layer(x, adjacency)
            if self.healthy:
                x = out
        return self.output(out).squeeze(-1)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    size = 24
    adjacency = torch.roll(torch.eye(size), 1, 0)  # a directed ring
    nodes = torch.randn(600, size, 2)
    target = torch.roll(nodes[..., 0], 3, 1) + 0.3 * nodes[..., 1]
    model = GraphNet(healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _epoch in range(8):
            for rows in torch.randperm(600).split(16):
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(nodes[rows], adjacency), target[rows])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
