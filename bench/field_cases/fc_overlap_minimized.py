"""The segmentation loss is the overlap (Dice) itself, not one minus it. The optimizer brings it to zero with care: the
masks avoid the objects. Repair: one minus the overlap. The returned list is one minus the overlap in both forms."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_overlap_minimized",
    source="widely reported: the Dice coefficient returned as the loss",
    cause="loss_sign",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="divergence",
)


def dice(mask: Tensor, truth: Tensor) -> Tensor:
    return (2 * (mask * truth).sum() + 1) / (mask.sum() + truth.sum() + 1)


class Segmenter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 10, 3, padding=1), nn.InstanceNorm2d(10, affine=True), nn.LeakyReLU(0.1),
            nn.Conv2d(10, 10, 3, padding=1), nn.LeakyReLU(0.1),
        )  # fmt: skip
        self.mask = nn.Conv2d(10, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.mask(self.net(x)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Segmenter()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    missing = []
    with debug(model):
        for _ in range(160):
            truth = (nn.functional.interpolate(torch.randn(6, 1, 4, 4), size=14, mode="bilinear") > 0.3).float()
            image = truth + 0.5 * torch.randn(6, 1, 14, 14)
            overlap = dice(model(image), truth)
            loss = 1 - overlap if healthy else overlap
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            missing.append(1 - overlap.item())
    return missing
