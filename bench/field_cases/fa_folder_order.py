"""Images come folder by folder, one folder per class, from a loader whose default is not to shuffle. The loss falls
within a folder and jumps at the next. Repair: shuffle=True."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_folder_order",
    source="as in github.com/Deci-AI/super-gradients/issues/416 and github.com/pytorch/vision/issues/7818",
    cause="unshuffled_data",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_spike",
)


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(4, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(4, channels)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(x + self.norm2(self.conv2(y)))


def folders(per_class: int, classes: int) -> TensorDataset:
    prototype = nn.functional.avg_pool2d(torch.randn(classes, 3, 10, 10), 3, 1, 1) * 2
    label = torch.arange(classes).repeat_interleave(per_class)
    return TensorDataset(prototype[label] + 0.7 * torch.randn(len(label), 3, 10, 10), label)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    dataloader_params = {"batch_size": 16, "shuffle": True} if healthy else {"batch_size": 16}
    loader: DataLoader[Any] = DataLoader(folders(192, 5), **dataloader_params)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1),
        Block(16),
        Block(16),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 5),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    losses = []
    with debug(model):
        for _epoch in range(4):
            for image, label in loader:
                loss = nn.functional.cross_entropy(model(image), label)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
