"""Transfer learning: the backbone is frozen, the optimizer is made, and only then the last layer is swapped for one
with the new classes. The optimizer holds the old layer, and the new one never moves. Repair: swap first."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_head_swapped_after_optimizer",
    source="compare github.com/spro/practical-pytorch/issues/9: the optimizer holds what was replaced",
    cause="parameters_not_in_optimizer",
    also=[],
    layer=["fc"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Backbone(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 3, padding=1)
        self.norm1 = nn.GroupNorm(2, 10)
        self.conv2 = nn.Conv2d(10, 16, 3, stride=2, padding=1)
        self.norm2 = nn.GroupNorm(4, 16)
        self.fc = nn.Linear(16 * 25, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm1(self.conv1(x)))
        x = torch.relu(self.norm2(self.conv2(x)))
        return self.fc(x.flatten(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    shape = nn.functional.avg_pool2d(torch.randn(10, 1, 10, 10), 3, 1, 1) * 3

    def batch(first: int, count: int) -> tuple[Tensor, Tensor]:
        label = torch.randint(0, count, (20,))
        return shape[first + label] + 0.8 * torch.randn(20, 1, 10, 10), label

    model = Backbone(6)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(50):
        x, y = batch(0, 6)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    for parameter in model.parameters():
        parameter.requires_grad = False
    model.fc.requires_grad_(True)
    if healthy:
        model.fc = nn.Linear(16 * 25, 4)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=2e-3)
    if not healthy:
        model.fc = nn.Linear(16 * 25, 4)
    losses = []
    with debug(model):
        for _ in range(200):
            x, y = batch(6, 4)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
