"""The files of an image set come sorted by label, all zeros first, and the loader does not shuffle. The net learns to
say the class of the moment: the training loss is near zero most of the time with a tower at each border. Repair:
shuffle. The returned list is the validation loss, every ten steps."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META = dict(
    id="fc_digits_sorted_by_label",
    source="as in github.com/zalandoresearch/fashion-mnist/pull/5",
    cause="unshuffled_data",
    also=[],
    layer=None,
    onset=(0, 40),
    symptom="loss_plateau",
)


def make(shapes: Tensor, per_class: int) -> TensorDataset:
    label = torch.arange(len(shapes)).repeat_interleave(per_class)
    return TensorDataset(shapes[label] + 0.8 * torch.randn(len(label), 1, 12, 12), label)


class SmallConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten()
        )
        self.classifier = nn.Sequential(nn.Linear(16 * 9, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    shapes = nn.functional.avg_pool2d(torch.randn(8, 1, 12, 12), 3, 1, 1) * 3
    train = DataLoader(make(shapes, 80), batch_size=8, shuffle=healthy)
    held_out = make(shapes, 25).tensors
    model = SmallConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    validation = []
    step = 0
    with debug(model):
        for _epoch in range(4):
            for image, label in train:
                model.train()
                optimizer.zero_grad()
                criterion(model(image), label).backward()
                optimizer.step()
                step += 1
                if step % 10 == 0:
                    model.eval()
                    with torch.no_grad():
                        validation.append(criterion(model(held_out[0]), held_out[1]).item())
    return validation
