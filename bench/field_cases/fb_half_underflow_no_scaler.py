"""Heights in kilometres along a track, mean squared error over thousands of samples, float16 autocast, and no gradient
scaler. The gradient of one sample is below the smallest number that float16 holds, so most of what flows back from
the output is zero. Repair: GradScaler."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_half_underflow_no_scaler",
    source="a public report",
    cause="half_precision_underflow",
    also=["unscaled_target"],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class HeightNet(nn.Module):
    def __init__(self, channels: int = 12) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(2, channels, 5, padding=2)
        self.conv2 = nn.Conv1d(channels, channels, 5, padding=2)
        self.conv3 = nn.Conv1d(channels, 1, 5, padding=2)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv3(F.silu(self.conv2(F.silu(self.conv1(x)))))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = HeightNet()
    with torch.no_grad():
        model.conv3.weight.mul_(0.1)
        model.conv3.bias.zero_()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", enabled=healthy, init_scale=2.0**14)
    losses = []
    with debug(model):
        for _ in range(150):
            x = torch.randn(16, 2, 256)
            height = 0.002 * (F.avg_pool1d(x[:, :1] * x[:, 1:], 3, stride=1, padding=1) + x[:, :1].sin())
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                guess = 0.01 * model(x)
            loss = F.mse_loss(guess.float(), height)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
    return losses
