"""One ordinary training loop, for tests in which something around it is unusual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from neuraldbg.records import Trace


def train(
    block: Any,
    model: nn.Module,
    loss_of: Callable[[nn.Module], Tensor],
    optimizer: Any = None,
    steps: int = 4,
) -> None:
    """An ordinary loop in a block: SGD at 0.01 unless told otherwise."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.01)
    with block(model):
        for _ in range(steps):
            optimizer.zero_grad()
            loss_of(model).backward()
            optimizer.step()


def squared(*shape: int) -> Callable[[nn.Module], Tensor]:
    """The mean square of what a model makes of random input of this shape."""
    return lambda model: model(torch.randn(*shape)).pow(2).mean()


def finite(trace: Trace, quantity: str, place: str | None = None) -> int:
    """How many values of a quantity were recorded and are finite."""
    return int(np.isfinite(trace.scalar(quantity, place)[1]).sum())
