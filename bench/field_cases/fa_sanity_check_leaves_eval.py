"""A sanity check on the validation set runs before the first epoch, calls model.eval(), and train() is called once,
before it. Batch norm uses its initial statistics (mean 0, variance 1) for good: no normalization at all. Repair:
model.train() in each epoch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_sanity_check_leaves_eval",
    source="as in github.com/pytorch/tutorials/issues/1624 and github.com/fartashf/vsepp/issues/4",
    cause="eval_mode_in_training",
    also=[],
    layer=["", "stages", "stages.0.1", "stages.1.1", "stages.2.1", "stages.3.1", "stages.0", "stages.1", "stages.2"],
    onset=(0, 0),
    symptom="slow",
)


def stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class StageNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.Sequential(stage(1, 12, 1), stage(12, 12, 2), stage(12, 12, 1), stage(12, 16, 2))
        self.fc = nn.Linear(16, 4)

    def forward(self, image: Tensor) -> Tensor:
        return self.fc(self.stages(image).mean((2, 3)))


@torch.no_grad()
def validate(model: nn.Module, loader: DataLoader[Any], most: int | None = None) -> float:
    model.eval()
    total = 0.0
    for number, (image, label) in enumerate(loader):
        if number == most:
            break
        total += nn.functional.cross_entropy(model(image), label).item()
    return total


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    pattern = nn.functional.avg_pool2d(torch.randn(4, 1, 12, 12), 3, 1, 1) * 0.4
    label = torch.randint(0, 4, (560,))
    image = pattern[label] + 0.15 * torch.randn(560, 1, 12, 12)
    train = DataLoader(TensorDataset(image[:480], label[:480]), batch_size=24, shuffle=True)
    valid = DataLoader(TensorDataset(image[480:], label[480:]), batch_size=40)
    model = StageNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    with debug(model):
        model.train()
        validate(model, valid, most=1)
        for _epoch in range(9):
            if healthy:
                model.train()
            for picture, kind in train:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(picture), kind)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            validate(model, valid)
    return losses
