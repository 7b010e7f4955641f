"""Thirty layers that each grow the signal a little too much."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraldbg.session import NeuralDbg

STEPS = 60
PLANTED = "thirty linear layers with ReLU whose weights have 1.6 times the spread that keeps the signal's size."


def train(steps: Iterable[int]) -> NeuralDbg:
    """A smooth function of 10 inputs, a deep ReLU network with a large gain, mean squared error."""
    import torch
    from torch import nn

    from neuraldbg import NeuralDbg

    torch.manual_seed(0)
    width = 64
    layers: list[nn.Module] = [nn.Linear(10, width), nn.ReLU()]
    for _ in range(28):
        layers += [nn.Linear(width, width), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(width, 1))
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=1.6 * (2.0 / layer.in_features) ** 0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with NeuralDbg(model, script=__file__) as debugger:
        for _ in steps:
            inputs = torch.randn(64, 10)
            targets = inputs.sin().sum(dim=1, keepdim=True)
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
    return debugger
