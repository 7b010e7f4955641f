"""A schedule that raises the learning rate a hundredfold in the middle of a healthy run."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraldbg.session import NeuralDbg

STEPS = 200
PLANTED = "at step 120 a schedule multiplies the learning rate by 100."


def train(steps: Iterable[int]) -> NeuralDbg:
    """A smooth function of 10 inputs, a two-layer network, mean squared error, SGD with a schedule."""
    import torch
    from torch import nn

    from neuraldbg import NeuralDbg

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 if step < 120 else 100.0)
    with NeuralDbg(model, script=__file__) as debugger:
        for _ in steps:
            inputs = torch.randn(64, 10)
            targets = inputs.sin().sum(dim=1, keepdim=True)
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
            schedule.step()
    return debugger
