"""Weights so large that every tanh starts at its bound."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraldbg.session import NeuralDbg

STEPS = 150
PLANTED = "the weights of all three hidden layers are drawn with a standard deviation of 5."


def train(steps: Iterable[int]) -> NeuralDbg:
    """Five Gaussian blobs in 20 dimensions, a tanh network with large weights, cross-entropy."""
    import torch
    from torch import nn

    from neuraldbg import NeuralDbg

    torch.manual_seed(0)
    centres = torch.randn(5, 20)
    model = nn.Sequential(
        nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5)
    )
    for layer in list(model)[:-1]:
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=5.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with NeuralDbg(model) as debugger:
        for _ in steps:
            labels = torch.randint(0, 5, (64,))
            inputs = centres[labels] + torch.randn(64, 20)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
    return debugger
