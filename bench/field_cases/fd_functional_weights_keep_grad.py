"""Weights are updated in place by hand, and the line that clears their gradients was lost: each backward pass adds
to the sum of all before. A net for a signed distance function swings wider and wider. Repair: clear the
gradients."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_functional_weights_keep_grad",
    source="as in github.com/greebear/pytorch-learning/issues/1",
    cause="missing_zero_grad",
    also=[],
    layer=None,
    onset=(0, 15),
    symptom="divergence",
)


class Distance(nn.Module):
    def __init__(self, width: int = 40) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, width), nn.Linear(width, width), nn.Linear(width, 1)])

    def forward(self, point: Tensor) -> Tensor:
        h = point
        for layer in self.layers[:-1]:
            h = F.softplus(layer(h), beta=5)
        return self.layers[-1](h).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Distance()
    losses = []
    with debug(model):
        for _ in range(350):
            point = 4 * torch.rand(96, 2) - 2
            distance = point.norm(dim=1) - 1
            loss = (model(point) - distance).square().mean()
            loss.backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.sub_(0.1 * parameter.grad)
                    if healthy:
                        parameter.grad.zero_()
            losses.append(loss.item())
    return losses
