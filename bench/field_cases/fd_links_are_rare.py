"""Link prediction over all pairs of a graph's nodes: three pairs in a hundred are linked, and the loss over all
pairs is satisfied by a decoder that says no. Repair: weight the links up. The returned list is the loss averaged
over the two classes."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_links_are_rare",
    source="widely reported: link prediction on the full adjacency answers no for every pair",
    cause="class_imbalance",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class LinkNet(nn.Module):
    def __init__(self, features: int = 12, width: int = 16) -> None:
        super().__init__()
        self.inside = nn.Linear(features, width)
        self.outside = nn.Linear(width, width)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, nodes: Tensor, neighbours: Tensor) -> Tensor:
        h = torch.tanh(self.inside(neighbours @ nodes + nodes))
        z = self.outside(h)
        return z @ z.transpose(1, 2) / 4 + self.bias


def graphs(count: int, size: int = 24) -> tuple[Tensor, Tensor]:
    nodes = torch.randn(count, size, 12)
    alike = nodes[..., :3] @ nodes[..., :3].transpose(1, 2)
    linked = (alike + 2.5 * torch.randn(count, size, size) > 7.0).float().triu(1)
    return nodes, linked + linked.transpose(1, 2)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = LinkNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    balanced = []
    with debug(model):
        for _ in range(300):
            nodes, linked = graphs(8)
            seen = linked * (torch.rand_like(linked) < 0.5)
            seen = torch.minimum(seen, seen.transpose(1, 2)) / 4
            logits = model(nodes, seen)
            weight = (1 - linked.mean()) / linked.mean() if healthy else None
            loss = F.binary_cross_entropy_with_logits(logits, linked, pos_weight=weight)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            each = F.binary_cross_entropy_with_logits(logits.detach(), linked, reduction="none")
            balanced.append((each[linked == 1].mean() + each[linked == 0].mean()).item() / 2)
    return balanced
