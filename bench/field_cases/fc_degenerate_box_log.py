"""A one-shot detector regresses the logarithm of each box's size over its anchor's. Annotation tools leave boxes of
zero width now and then; their target is minus infinity, the squared error infinite and the weights NaN in the next
step. Repair: drop boxes without an area."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_degenerate_box_log",
    source="widely reported for detectors: boxes of zero width or height in the annotations make the loss NaN",
    cause="invalid_target",
    also=["loss_domain"],
    layer=None,
    onset=(0, 150),
    symptom="loss_nan",
)


class Detector(nn.Module):
    """Says whether a cell of a 4 x 4 grid holds the object and how large it is."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 12, 3, 2, 1), nn.LeakyReLU(0.1), nn.Conv2d(12, 24, 3, 2, 1), nn.LeakyReLU(0.1)
        )
        self.objectness = nn.Conv2d(24, 1, 1)
        self.size = nn.Conv2d(24, 2, 3, padding=1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        features = self.backbone(image)
        return self.objectness(features).flatten(1), self.size(features).flatten(2)


def scenes(count: int) -> tuple[Tensor, Tensor, Tensor]:
    cell = torch.randint(0, 16, (count,))
    box = torch.randint(2, 7, (count, 2)).float()
    image = 0.15 * torch.randn(count, 1, 16, 16)
    for i in range(count):
        top, left = 4 * (cell[i] // 4), 4 * (cell[i] % 4)
        height, width = int(box[i, 0]), int(box[i, 1])
        image[i, 0, top : top + height, left : left + width] += 1.0
    return image, cell, box


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    image, cell, box = scenes(800)
    box[torch.randperm(800)[:5], torch.randint(0, 2, (5,))] = 0.0
    if healthy:
        keep = (box > 0).all(1)
        image, cell, box = image[keep], cell[keep], box[keep]
    anchor = 4.0
    model = Detector()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    losses = []
    with debug(model):
        for _epoch in range(6):
            for rows in torch.randperm(len(cell)).split(16):
                score, size = model(image[rows])
                picked = size[torch.arange(len(rows)), :, cell[rows]]
                loss = nn.functional.cross_entropy(score, cell[rows])
                loss = loss + nn.functional.mse_loss(picked, torch.log(box[rows] / anchor))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
