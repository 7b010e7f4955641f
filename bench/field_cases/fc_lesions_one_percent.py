"""A small U-Net should outline lesions that fill about one pixel in a hundred. Under plain cross entropy it calls every
pixel background, with 99 percent of the pixels right, and is still there at the end. Repair: weight the rare class.
The returned list is one minus the soft overlap (Dice) of the batch."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fc_lesions_one_percent",
    source="widely reported: a segmentation net predicts background everywhere",
    cause="class_imbalance",
    also=[],
    layer=None,
    onset=(0, 60),
    symptom="loss_plateau",
)


def pair(fan_in: int, fan_out: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(fan_in, fan_out, 3, padding=1), nn.GroupNorm(2, fan_out), nn.ReLU())


class LesionNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2 = pair(1, 8), pair(8, 12)
        self.up1 = pair(20, 8)
        self.mask = nn.Conv2d(8, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.down1(x)
        b = self.down2(F.avg_pool2d(a, 2))
        return self.mask(self.up1(torch.cat([a, F.interpolate(b, scale_factor=2)], 1)))


def scans(count: int) -> tuple[Tensor, Tensor]:
    mask = torch.zeros(count, 1, 20, 20)
    for i in range(count):
        y, x = torch.randint(0, 18, (2,)).tolist()
        mask[i, 0, y : y + 2, x : x + 2] = 1
    return 1.1 * mask + 0.7 * torch.randn(count, 1, 20, 20), mask


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = LesionNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    weight = torch.tensor(60.0) if healthy else None
    missed = []
    with debug(model):
        for _ in range(300):
            image, mask = scans(8)
            logits = model(image)
            loss = F.binary_cross_entropy_with_logits(logits, mask, pos_weight=weight)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                found = (logits > 0).float()
                recall = (found * mask).sum() / mask.sum()
            missed.append(1 - recall.item())
    return missed
