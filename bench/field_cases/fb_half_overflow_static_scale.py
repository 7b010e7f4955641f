"""Mixed precision by hand: the loss is multiplied by a fixed 2**20, and the gradients are divided by it before the
step, without any look at whether they are finite. The scaled gradients leave the range of float16 on their way back,
and the weights are NaN within the first dozen steps. Repair: 2**8."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_half_overflow_static_scale",
    source="a public report",
    cause="half_precision_overflow",
    also=["loss_scale"],
    layer=None,
    onset=(0, 12),
    symptom="loss_nan",
)


class Upscaler(nn.Module):
    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.last = nn.Conv2d(channels, 4, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x: Tensor) -> Tensor:
        h = F.gelu(self.first(x))
        h = h + F.gelu(self.second(h))
        return self.shuffle(self.last(h))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Upscaler()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scale = 2.0**8 if healthy else 2.0**20
    losses = []
    with debug(model):
        for _ in range(200):
            sharp = F.interpolate(torch.randn(4, 1, 5, 5), size=16, mode="bicubic")
            small = F.avg_pool2d(sharp, 2)
            with torch.autocast("cpu", dtype=torch.float16):
                image = model(small)
            loss = (image.float() - sharp).abs().mean()
            optimizer.zero_grad()
            (loss * scale).backward()
            for parameter in model.parameters():
                parameter.grad.div_(scale)
            optimizer.step()
            losses.append(loss.item())
    return losses
