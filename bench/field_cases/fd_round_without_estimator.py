"""Quantization-aware training by hand: activations are scaled, rounded and scaled back. The slope of rounding is
zero, so that the layers below the quantizer get gradients of nothing but zeros. Repair: a straight-through
estimator."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_round_without_estimator",
    source="compare github.com/Justin-Tan/generative-compression/issues/27",
    cause="detached_graph",
    also=[],
    layer=["quantize", "below", "below.0", "below.2"],
    onset=(0, 0),
    symptom="slow",
)


class Quantize(nn.Module):
    def __init__(self, straight_through: bool, step: float = 0.25) -> None:
        super().__init__()
        self.straight_through, self.step = straight_through, step

    def forward(self, x: Tensor) -> Tensor:
        rounded = torch.round(x / self.step) * self.step
        return x + (rounded - x).detach() if self.straight_through else rounded


class Quantized(nn.Module):
    def __init__(self, straight_through: bool) -> None:
        super().__init__()
        self.below = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 6))
        self.quantize = Quantize(straight_through)
        self.above = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.above(self.quantize(self.below(x)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(16, 3)
    model = Quantized(straight_through=healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            x = torch.randn(48, 16)
            label = (x @ rule).argmax(1)
            loss = F.cross_entropy(model(x), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
