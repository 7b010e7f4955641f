"""Unrolled sparse coding: ReLU(score - threshold) as the code, with a learned threshold that starts at 4 where scores
are of the order of one. The code is zero for every sample from the start, so neither the dictionary in front of it
nor the threshold ever gets a gradient. Repair: 0.1."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_dying_relu_threshold",
    source="a public report",
    cause="dying_relu",
    also=["init_too_small"],
    layer=["shrink", "analysis", "shrink.relu", ""],
    onset=(0, 0),
    symptom="dead_units",
)


class Shrink(nn.Module):
    def __init__(self, units: int, threshold: float) -> None:
        super().__init__()
        self.threshold = nn.Parameter(torch.full((units,), threshold))
        self.relu = nn.ReLU()

    def forward(self, score: Tensor) -> Tensor:
        return self.relu(score - self.threshold)


class SparseCoder(nn.Module):
    def __init__(self, inputs: int, units: int, threshold: float) -> None:
        super().__init__()
        self.analysis = nn.Linear(inputs, units, bias=False)
        self.shrink = Shrink(units, threshold)
        self.synthesis = nn.Linear(units, inputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.synthesis(self.shrink(self.analysis(x)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    atoms = F.normalize(torch.randn(12, 16), dim=1)
    model = SparseCoder(16, 32, threshold=0.1 if healthy else 4.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(400):
            code = torch.rand(48, 12) * (torch.rand(48, 12) < 0.2)
            x = 2.0 * code @ atoms
            loss = F.mse_loss(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
