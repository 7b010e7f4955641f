"""The training transform standardizes the images and the validation transform doesn't: training goes well and
validation is at chance from the first epoch. Repair: one transform for both. The returned list is the validation loss
after each epoch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

META: dict[str, Any] = dict(
    id="fa_validation_without_normalize",
    source="as in github.com/JeasunLok/ResNet-pytorch/issues/1 and github.com/wangkuiyi/gotorch/pull/365",
    cause="validation_mismatch",
    also=[],
    layer=None,
    onset=(0, 40),
    symptom="divergence",
)

Transform = Callable[[Tensor], Tensor]


class Compose:
    def __init__(self, *steps: Transform) -> None:
        self.steps = steps

    def __call__(self, image: Tensor) -> Tensor:
        for step in self.steps:
            image = step(image)
        return image


def to_float(image: Tensor) -> Tensor:
    return image.float() / 255


def normalize(image: Tensor) -> Tensor:
    return (image - 0.45) / 0.12


class Leaves(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, shape: Tensor, count: int, transform: Transform) -> None:
        self.label = torch.randint(0, len(shape), (count,))
        self.image = (115 + 25 * shape[self.label] + 20 * torch.randn(count, 3, 9, 9)).clamp(0, 255).byte()
        self.transform = transform

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.transform(self.image[index]), self.label[index]


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 12, 3, bias=False), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 16, 3, bias=False),
        nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 25, 4),
    )  # fmt: skip


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    shape = nn.functional.avg_pool2d(torch.randn(4, 3, 9, 9), 3, 1, 1) * 2
    train_transform = Compose(to_float, normalize)
    valid_transform = train_transform if healthy else Compose(to_float)
    train = DataLoader(Leaves(shape, 600, train_transform), batch_size=20, shuffle=True)
    valid = DataLoader(Leaves(shape, 120, valid_transform), batch_size=40)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    criterion = nn.CrossEntropyLoss()
    validation = []
    with debug(model):
        for _epoch in range(6):
            model.train()
            for image, label in train:
                optimizer.zero_grad()
                loss = criterion(model(image), label)
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                each = [criterion(model(image), label).item() for image, label in valid]
            validation.append(sum(each) / len(each))
    return validation
