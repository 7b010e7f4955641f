"""Healthy. A net with binary weights and straight-through gradients: its weights jump between -1 and 1, the loss
shakes and comes down all the same."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_ok_binary_weights",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class BinaryLinear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        clipped = self.weight.clamp(-1, 1)
        binary = clipped + (clipped.sign() - clipped).detach()
        return F.linear(x, binary / self.in_features**0.5, self.bias)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(16, 4)
    model = nn.Sequential(
        BinaryLinear(16, 96), nn.BatchNorm1d(96), nn.Hardtanh(),
        BinaryLinear(96, 96), nn.BatchNorm1d(96), nn.Hardtanh(),
        nn.Linear(96, 4),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            x = torch.randn(64, 16)
            loss = F.cross_entropy(model(x), (x @ rule).argmax(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
