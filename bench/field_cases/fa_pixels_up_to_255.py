"""A small convolutional net with plain SGD gets gray images as floats of 0 to 255. The very first updates are so large
that the net answers one class for everything. Repair: scale the pixels to [-1, 1]."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

META: dict[str, Any] = dict(
    id="fa_pixels_up_to_255",
    source="widely reported; compare github.com/chainer/chainercv/issues/358",
    cause="unnormalized_input",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Shapes(Dataset[tuple[Tensor, int]]):
    def __init__(self, count: int, scale_pixels: bool) -> None:
        self.scale_pixels = scale_pixels
        self.label = torch.randint(0, 3, (count,))
        image = 90 + 30 * torch.randn(count, 1, 14, 14)
        for index, kind in enumerate(self.label.tolist()):
            top, left = (int(v) for v in torch.randint(1, 6, (2,)))
            if kind == 0:
                image[index, 0, top : top + 7, left + 3] += 110
            elif kind == 1:
                image[index, 0, top + 3, left : left + 7] += 110
            else:
                image[index, 0, torch.arange(top, top + 7), torch.arange(left, left + 7)] += 110
        self.image = image.clamp(0, 255).round()

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = self.image[index]
        return (image / 127.5 - 1 if self.scale_pixels else image), int(self.label[index])


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    loader = DataLoader(Shapes(480, healthy), batch_size=24, shuffle=True)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(),
        nn.Linear(16 * 9, 32), nn.ReLU(), nn.Linear(32, 3),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _epoch in range(14):
            for image, label in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(image), label)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
