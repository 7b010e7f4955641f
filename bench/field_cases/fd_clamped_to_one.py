"""Heights in a depth picture lie between 2 and 9 metres. The loader, written for pictures from 0 to 1, clamps them
to that range, and every pixel is 1. Repair: clamp to the range of the sensor and scale."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_clamped_to_one",
    source="widely reported: clip(0, 1) over an image that is not in 0..1",
    cause="constant_input",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class DepthNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(1, 10, 5, 2, 2), nn.LeakyReLU(0.1), nn.Conv2d(10, 20, 3, 2, 1), nn.LeakyReLU(0.1)
        )
        self.attend = nn.Conv2d(20, 1, 1)
        self.out = nn.Linear(20, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.enc(x)
        weight = self.attend(h).flatten(2).softmax(2)
        return self.out((h.flatten(2) * weight).sum(2))


def load(depth: Tensor, healthy: bool) -> Tensor:
    if healthy:
        return (depth.clamp(0, 12) - 5.5) / 2
    return depth.clamp(0, 1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    scene = F.interpolate(torch.randn(3, 1, 4, 4), size=16, mode="bilinear")
    model = DepthNet()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            label = torch.randint(0, 3, (24,))
            depth = (5.5 + 1.2 * scene[label] + 0.6 * torch.randn(24, 1, 16, 16)).clamp(2, 9)
            loss = F.cross_entropy(model(load(depth, healthy)), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
