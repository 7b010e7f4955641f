"""Healthy. CyclicLR with a twentyfold swing every eighty steps: the loss goes up a little at each crest and ends lower
after each trough."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_cyclic_rate",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16, 6)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        return self.fc(F.relu(self.norm2(self.conv2(x))).mean(dim=(2, 3)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = ConvNet()
    kind = torch.randn(6, 1, 5, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=5e-3, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=5e-3, max_lr=0.1, step_size_up=40)
    losses = []
    with debug(model):
        for _ in range(320):
            label = torch.randint(0, 6, (32,))
            x = F.interpolate(kind[label] + 0.8 * torch.randn(32, 1, 5, 5), size=10)
            loss = F.cross_entropy(model(x + 0.3 * torch.randn_like(x)), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    return losses
