"""Twenty sigmoid layers: little of the gradient is left at the first one."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraldbg.session import NeuralDbg

STEPS = 150
PLANTED = "twenty sigmoid layers in a row without residual connections or normalization."


def train(steps: Iterable[int]) -> NeuralDbg:
    """Five Gaussian blobs in 20 dimensions, a deep sigmoid network, cross-entropy."""
    import torch
    from torch import nn

    from neuraldbg import NeuralDbg

    torch.manual_seed(0)
    centres = 2.0 * torch.randn(5, 20)
    hidden = [layer for _ in range(19) for layer in (nn.Linear(32, 32), nn.Sigmoid())]
    model = nn.Sequential(nn.Linear(20, 32), nn.Sigmoid(), *hidden, nn.Linear(32, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with NeuralDbg(model, script=__file__) as debugger:
        for _ in steps:
            labels = torch.randint(0, 5, (64,))
            inputs = centres[labels] + torch.randn(64, 20)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
    return debugger
