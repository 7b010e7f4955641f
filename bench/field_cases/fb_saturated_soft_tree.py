"""A soft decision tree whose gates are sigmoid(steepness * score) with a steepness of 80, so that its splits should be
sharp. Every sample sits in the flat part of every gate: the leaves learn, the splits get no gradient and stay at
random places. Repair: a steepness of 2."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_saturated_soft_tree",
    source="a public report",
    cause="saturating_activation",
    also=["init_too_large"],
    layer=["split", "gate", ""],
    onset=(0, 0),
    symptom="saturation",
)


class SoftTree(nn.Module):
    def __init__(self, inputs: int, classes: int, steepness: float, depth: int = 3) -> None:
        super().__init__()
        self.split = nn.Linear(inputs, 2**depth - 1)
        self.gate = nn.Sigmoid()
        self.leaf = nn.Parameter(0.1 * torch.randn(2**depth, classes))
        self.steepness, self.depth = steepness, depth

    def forward(self, x: Tensor) -> Tensor:
        right = self.gate(self.steepness * self.split(x))
        reach = torch.ones(len(x), 1)
        first = 0
        for level in range(self.depth):
            here = right[:, first : first + 2**level]
            reach = torch.stack([reach * (1 - here), reach * here], dim=2).flatten(1)
            first += 2**level
        return reach @ self.leaf


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    teacher = torch.linalg.qr(torch.randn(12, 2))[0]
    model = SoftTree(12, 4, steepness=2.0 if healthy else 80.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(400):
            x = torch.randn(64, 12)
            side = (x @ teacher > 0).long()
            loss = F.cross_entropy(model(x), side[:, 0] + 2 * side[:, 1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
