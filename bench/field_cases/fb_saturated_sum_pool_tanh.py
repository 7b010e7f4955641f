"""A set encoder that adds up the features of two hundred elements and puts the sum through tanh. The sum is of the
order of a hundred, tanh of it is plus or minus one for every set, and the encoder in front of it gets no gradient.
Repair: the mean."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_saturated_sum_pool_tanh",
    source="a public report",
    cause="saturating_activation",
    also=[],
    layer=["squash", "element", "element.0", "element.2", ""],
    onset=(0, 0),
    symptom="saturation",
)


class SetEncoder(nn.Module):
    def __init__(self, average: bool, width: int = 32) -> None:
        super().__init__()
        self.element = nn.Sequential(nn.Linear(2, width), nn.GELU(), nn.Linear(width, width))
        self.squash = nn.Tanh()
        self.readout = nn.Linear(width, 1)
        self.average = average

    def forward(self, x: Tensor) -> Tensor:
        h = self.element(x)
        pooled = h.mean(dim=1) if self.average else h.sum(dim=1)
        return self.readout(self.squash(pooled)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = SetEncoder(average=healthy)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(300):
            width = 0.2 + 1.3 * torch.rand(24, 1, 2)
            x = width * torch.randn(24, 200, 2)
            target = 1.5 * (width[:, 0, 0] - width[:, 0, 1])
            loss = F.mse_loss(model(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
