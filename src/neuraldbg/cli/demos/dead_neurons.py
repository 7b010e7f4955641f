"""A learning rate that kills the units of a small network in its first steps."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraldbg.session import NeuralDbg

STEPS = 150
PLANTED = "SGD with a learning rate of 0.3; with 0.02 the same network reaches a loss of 0.8."


def train(steps: Iterable[int]) -> NeuralDbg:
    """A smooth function of 10 inputs, three hidden ReLU layers, mean squared error."""
    import torch
    from torch import nn

    from neuraldbg import NeuralDbg

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    with NeuralDbg(model, script=__file__) as debugger:
        for _ in steps:
            inputs = torch.randn(64, 10)
            targets = inputs.sin().sum(dim=1, keepdim=True)
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
    return debugger
