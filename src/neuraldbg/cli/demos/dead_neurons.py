"""A learning rate that kills the units of a small classifier in its first steps."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraldbg.session import NeuralDbg

STEPS = 150
PLANTED = "SGD with a learning rate of 5.0; 0.05 trains well."


def train(steps: Iterable[int]) -> NeuralDbg:
    """Five Gaussian blobs in 20 dimensions, a two-layer ReLU network, cross-entropy."""
    import torch
    from torch import nn

    from neuraldbg import NeuralDbg

    torch.manual_seed(0)
    centres = 2.0 * torch.randn(5, 20)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=5.0)
    with NeuralDbg(model) as debugger:
        for _ in steps:
            labels = torch.randint(0, 5, (64,))
            inputs = centres[labels] + torch.randn(64, 20)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
    return debugger
