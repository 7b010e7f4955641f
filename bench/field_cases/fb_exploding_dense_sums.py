"""A stack in which each layer takes the sum of everything before it, as in a densely connected net but with addition
for concatenation. The signal at least doubles in each of sixteen layers, forward and backward, before the first step
is taken. Repair: the mean of everything before it."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_exploding_dense_sums",
    source="a public report",
    cause="exploding_depth",
    also=["init_too_large"],
    layer=["layers", "", *[f"layers.{i}" for i in range(16)]],
    onset=(0, 0),
    symptom="divergence",
)


class DenseSums(nn.Module):
    def __init__(self, average: bool, width: int = 32, depth: int = 16) -> None:
        super().__init__()
        self.inp = nn.Linear(6, width)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.out = nn.Linear(width, 1)
        self.average = average
        for layer in self.layers:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        total = last = self.inp(x)
        for count, layer in enumerate(self.layers, start=1):
            last = F.leaky_relu(layer(total / count if self.average else total), 0.05)
            total = total + last
        return self.out(total / (len(self.layers) + 1) if self.average else last).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = DenseSums(average=healthy)
    optimizer = torch.optim.SGD(model.parameters(), lr=5e-3, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(48, 6)
            target = torch.sin(x[:, 0]) + x[:, 1].abs() - x[:, 2]
            loss = F.mse_loss(model(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
