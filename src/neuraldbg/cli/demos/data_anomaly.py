"""One missing value in one row of one batch."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraldbg.session import NeuralDbg

STEPS = 150
PLANTED = "in the batch of step 100, feature 3 of row 17 is NaN."


def train(steps: Iterable[int]) -> NeuralDbg:
    """A smooth function of 10 inputs, a two-layer network, mean squared error, Adam."""
    import torch
    from torch import nn

    from neuraldbg import NeuralDbg

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with NeuralDbg(model, script=__file__) as debugger:
        for step in steps:
            inputs = torch.randn(64, 10)
            targets = inputs.sin().sum(dim=1, keepdim=True)
            if step == 100:
                inputs[17, 3] = float("nan")
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
    return debugger
