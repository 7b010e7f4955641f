"""Weights so large that every tanh starts at its bound."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraldbg.session import NeuralDbg

STEPS = 150
PLANTED = "the weights of all six hidden layers are drawn with a standard deviation of 5."


def train(steps: Iterable[int]) -> NeuralDbg:
    """A smooth function of 10 inputs, six tanh layers with large weights, mean squared error."""
    import torch
    from torch import nn

    from neuraldbg import NeuralDbg

    torch.manual_seed(0)
    layers: list[nn.Module] = [nn.Linear(10, 64), nn.Tanh()]
    for _ in range(5):
        layers += [nn.Linear(64, 64), nn.Tanh()]
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=5.0)
    model = nn.Sequential(*layers, nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with NeuralDbg(model, script=__file__) as debugger:
        for _ in steps:
            inputs = torch.randn(64, 10)
            targets = inputs.sin().sum(dim=1, keepdim=True)
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
    return debugger
