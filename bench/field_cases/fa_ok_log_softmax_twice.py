"""Healthy. The model returns log-probabilities and the loss is cross_entropy, which takes log_softmax of them once
more. That changes nothing: the logarithm of a normalized probability is a fixed point of log_softmax."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_ok_log_softmax_twice",
    source="as asked in github.com/speedinghzl/Pytorch-Deeplab/issues/2",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class LogNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(18, 40)
        self.fc2 = nn.Linear(40, 6)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.log_softmax(self.fc2(torch.relu(self.fc1(x))), dim=1)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    centre = 2.5 * nn.functional.normalize(torch.randn(6, 18), dim=1)
    model = LogNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    with debug(model):
        for _step in range(240):
            label = torch.randint(0, 6, (40,))
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(centre[label] + 0.4 * torch.randn(40, 18)), label)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
