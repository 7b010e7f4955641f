"""Healthy. A search for a learning rate: it grows from 1e-6 to 0.1 over the run, as the user wants it, and the search
stops there. The loss stands still for the first half and falls in the second."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_ok_rate_sweep",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 12, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(12)
        self.fc = nn.Linear(12 * 16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(torch.relu(self.norm(self.conv(x))).flatten(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    shape = nn.functional.avg_pool2d(torch.randn(4, 1, 8, 8), 3, 1, 1) * 3
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 10 ** (5 * step / 200))
    losses = []
    with debug(model):
        for _ in range(200):
            label = torch.randint(0, 4, (24,))
            image = shape[label] + 0.7 * torch.randn(24, 1, 8, 8)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(image), label)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
    return losses
