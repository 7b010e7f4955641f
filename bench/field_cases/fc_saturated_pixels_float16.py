"""Microscope images of sixteen bits go into a net under float16 autocast. A saturated pixel is 65535, and the largest
number of float16 is 65504: the first batch with such a pixel is infinite in the first convolution and the loss is NaN.
The group norms take care of the scale otherwise. Repair: bfloat16."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_saturated_pixels_float16",
    source="widely reported: values above 65504 under float16 autocast",
    cause="half_precision_overflow",
    also=["unnormalized_input"],
    layer=["conv1", "norm1"],
    onset=(0, 120),
    symptom="loss_nan",
)


class CellNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(2, 8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(4, 16)
        self.head = nn.Linear(16 * 25, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm1(self.conv1(x).float()))
        x = torch.relu(self.norm2(self.conv2(x).float()))
        return self.head(x.flatten(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    stain = nn.functional.avg_pool2d(torch.randn(3, 1, 10, 10), 3, 1, 1) * 3
    label = torch.randint(0, 3, (600,))
    image = (9000 + 2200 * stain[label] + 1800 * torch.randn(600, 1, 10, 10)).clamp(min=0)
    for i in torch.randperm(600)[:4].tolist():
        y, x = torch.randint(0, 9, (2,)).tolist()
        image[i, 0, y, x] = 65535.0
    model = CellNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    dtype = torch.bfloat16 if healthy else torch.float16
    losses = []
    with debug(model):
        for _epoch in range(6):
            for rows in torch.randperm(600).split(20):
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype=dtype):
                    logits = model(image[rows])
                loss = nn.functional.cross_entropy(logits.float(), label[rows])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
