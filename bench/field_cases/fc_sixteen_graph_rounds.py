"""A graph net of sixteen rounds, each the mean over the neighbours, a linear map and tanh, without residual paths. All
nodes become alike, the signal and its gradient shrink round by round, and the first layers get nothing. Repair:
residual connections with layer norm."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_sixteen_graph_rounds",
    source="compare github.com/lightaime/deep_gcns_torch/issues/10: the deeper, the worse it trains",
    cause="vanishing_depth",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="vanishing_gradient",
)


class DeepGraphNet(nn.Module):
    def __init__(self, residual: bool, width: int = 20, rounds: int = 16) -> None:
        super().__init__()
        self.enter = nn.Linear(5, width)
        self.rounds = nn.ModuleList([nn.Linear(width, width) for _ in range(rounds)])
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(rounds)] if residual else [])
        self.leave = nn.Linear(width, 3)

    def forward(self, x: Tensor, near: Tensor) -> Tensor:
        h = self.enter(x)
        for i, layer in enumerate(self.rounds):
            if self.norms:
                h = h + torch.tanh(layer(near @ self.norms[i](h)))
            else:
                h = torch.tanh(layer(near @ h))
        return self.leave(h)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    community = torch.randint(0, 3, (90,))
    x = torch.randn(3, 5)[community] + 0.8 * torch.randn(90, 5)
    same = community[:, None] == community[None]
    edge = torch.rand(90, 90) < torch.where(same, 0.08, 0.02)
    adjacency = ((edge | edge.t()).float() + torch.eye(90)).clamp(max=1)
    near = adjacency / adjacency.sum(1, keepdim=True)
    model = DeepGraphNet(residual=healthy)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(150):
            rows = torch.randperm(90)[:50]
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x, near)[rows], community[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
