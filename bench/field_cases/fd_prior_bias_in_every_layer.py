"""A detector's trick, a bias of minus four so that rare objects start at a low probability, was put into the
function that initializes every layer. Below the ReLUs nothing is ever positive. Repair: the last layer only."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_prior_bias_in_every_layer",
    source="widely reported: the focal loss's prior bias applied to all layers",
    cause="dying_relu",
    also=[],
    layer=["body.1", "body.3", "body.0", "body.2"],
    onset=(0, 0),
    symptom="dead_units",
)


class Detector(nn.Module):
    def __init__(self, everywhere: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 10, 3, padding=1), nn.ReLU(), nn.Conv2d(10, 10, 3, padding=1), nn.ReLU())
        self.score = nn.Conv2d(10, 1, 1)
        for module in self.modules() if everywhere else [self.score]:
            if isinstance(module, nn.Conv2d):
                nn.init.constant_(module.bias, -math.log(0.98 / 0.02))

    def forward(self, x: Tensor) -> Tensor:
        return self.score(self.body(x))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Detector(everywhere=not healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    blob = torch.tensor([[0.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 0.0]]).view(1, 1, 3, 3)
    losses = []
    with debug(model):
        for _ in range(250):
            where = (torch.rand(12, 1, 14, 14) < 0.08).float()
            image = F.conv2d(where, blob, padding=1) + 0.3 * torch.randn(12, 1, 14, 14)
            loss = F.binary_cross_entropy_with_logits(model(image), where)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
