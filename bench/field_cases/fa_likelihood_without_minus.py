"""A hand-written likelihood: the log-probabilities of the right classes are gathered and averaged, and the minus is
forgotten. The loss falls, below zero and without end, while the accuracy goes to nothing. Repair: the minus."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_likelihood_without_minus",
    source="widely reported: a hand-written log-likelihood that goes to minus infinity",
    cause="loss_sign",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="divergence",
)


class LikelihoodLoss(nn.Module):
    def __init__(self, healthy: bool) -> None:
        super().__init__()
        self.healthy = healthy

    def forward(self, logits: Tensor, label: Tensor) -> Tensor:
        likelihood = logits.log_softmax(1)[torch.arange(len(label)), label].mean()
        return -likelihood if self.healthy else likelihood


class PointNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.each = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def forward(self, points: Tensor) -> Tensor:
        return self.head(self.each(points).amax(1))


def clouds(count: int) -> tuple[Tensor, Tensor]:
    label = torch.randint(0, 3, (count,))
    direction = 6.2832 * torch.rand(count, 20)
    circle = torch.stack([direction.cos(), direction.sin()], 2)
    square = circle / circle.abs().amax(2, keepdim=True)
    line = circle * torch.tensor([1.0, 0.15])
    points = torch.stack([circle, square, line], 1)[torch.arange(count), label]
    return points + 0.03 * torch.randn(count, 20, 2), label


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    points, label = clouds(1200)
    model = PointNet()
    criterion = LikelihoodLoss(healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _epoch in range(8):
            for rows in torch.randperm(1200).split(40):
                optimizer.zero_grad()
                loss = criterion(model(points[rows]), label[rows])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
