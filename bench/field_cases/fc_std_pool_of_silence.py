"""A speaker net pools its frames by mean and standard deviation, the latter as the root of the mean square less the
squared mean. In a silent recording all frames are equal: the difference is zero or a little below, and the root or its
slope is NaN. Repair: clamp the variance from below."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_std_pool_of_silence",
    source="compare github.com/open-mmlab/mmrotate/issues/205: the slope of a root at zero",
    cause="loss_domain",
    also=[],
    layer=["pool", ""],
    onset=(0, 80),
    symptom="loss_nan",
)


class StatisticsPooling(nn.Module):
    def __init__(self, floor: float | None) -> None:
        super().__init__()
        self.floor = floor

    def forward(self, frames: Tensor) -> Tensor:
        mean = frames.mean(2)
        variance = frames.square().mean(2) - mean.square()
        if self.floor is not None:
            variance = variance.clamp(min=self.floor)
        return torch.cat([mean, variance.sqrt()], 1)


class SpeakerNet(nn.Module):
    def __init__(self, floor: float | None) -> None:
        super().__init__()
        self.frames = nn.Sequential(nn.Conv1d(5, 20, 3), nn.LeakyReLU(0.2), nn.Conv1d(20, 20, 3, dilation=2))
        self.pool = StatisticsPooling(floor)
        self.speaker = nn.Sequential(nn.Linear(40, 32), nn.LeakyReLU(0.2), nn.Linear(32, 6))

    def forward(self, x: Tensor) -> Tensor:
        return self.speaker(self.pool(self.frames(x)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    voice, level = torch.randn(6, 5, 1), 0.3 + torch.rand(6, 5, 1)
    speaker = torch.randint(0, 6, (800,))
    x = 0.4 * voice[speaker] + level[speaker] * torch.randn(800, 5, 16)
    x[torch.randperm(800)[:4]] = 0.0
    model = SpeakerNet(1e-5 if healthy else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for _epoch in range(8):
            for rows in torch.randperm(800).split(20):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x[rows]), speaker[rows])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
