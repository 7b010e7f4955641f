"""Adam with eps=1.0, taken from the notes of a very large image model. The gradients here are thousands of times
smaller than one, so epsilon is the whole denominator and a step is the rate times a tiny gradient: the loss hardly
moves. Repair: eps=1e-8."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_adam_epsilon_one",
    source="a public report",
    cause="adam_epsilon_or_beta2",
    also=["learning_rate_too_low"],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


class SeparableBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.pointwise = nn.Conv2d(channels, channels, 1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x + self.norm(self.pointwise(self.depthwise(x))))


class SmallXception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.block1 = SeparableBlock(16)
        self.block2 = SeparableBlock(16)
        self.fc = nn.Linear(16, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.block2(self.block1(self.stem(x))).mean(dim=(2, 3)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    texture = torch.randn(6, 3, 4, 4).repeat(1, 1, 3, 3)
    model = SmallXception()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, eps=1e-8 if healthy else 1.0)
    losses = []
    with debug(model):
        for _ in range(250):
            label = torch.randint(0, 6, (16,))
            image = texture[label] + torch.randn(16, 3, 12, 12)
            loss = F.cross_entropy(model(image), label, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
