"""Twenty convolutions with ReLU, the library's default initialization, no normalization and no shortcuts. Each layer
keeps about a sixth of the variance, in both directions, so that the last layer sees a constant and the first ones
get no gradient. Repair: shortcuts around each layer."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_vanishing_plain_convs",
    source="a public report",
    cause="vanishing_depth",
    also=["init_too_small"],
    layer=["convs", *[f"convs.{i}" for i in range(20)]],
    onset=(0, 0),
    symptom="vanishing_gradient",
)


class PlainNet(nn.Module):
    def __init__(self, shortcuts: bool, channels: int = 12, depth: int = 20) -> None:
        super().__init__()
        self.stem = nn.Conv1d(3, channels, 3, padding=1)
        self.convs = nn.ModuleList([nn.Conv1d(channels, channels, 3, padding=1) for _ in range(depth)])
        self.fc = nn.Linear(channels, 4)
        self.shortcuts = shortcuts

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for conv in self.convs:
            x = x + 0.3 * F.relu(conv(x)) if self.shortcuts else F.relu(conv(x))
        return self.fc(x.mean(dim=2))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = PlainNet(shortcuts=healthy)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(150):
            label = torch.randint(0, 4, (16,))
            time = torch.arange(20.0).view(1, 1, 20)
            rate = (0.4 + 0.5 * label.float()).view(-1, 1, 1)
            x = torch.sin(rate * time + 6.28 * torch.rand(16, 3, 1)) + 0.2 * torch.randn(16, 3, 20)
            loss = F.cross_entropy(model(x), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
