"""What all loops share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

Block = Callable[[nn.Module | None], AbstractContextManager[Any]]
Loop = Callable[[Block], list[Any]]


def batch(*shape: int) -> Tensor:
    return torch.randn(*shape)


def labels(count: int, classes: int = 3) -> Tensor:
    return torch.randint(0, classes, (count,))


def ended(model: nn.Module, *others: Any, losses: list[Any]) -> list[Any]:
    """Weights and buffers of the model, states of optimizers and scalers, losses."""
    return [model.state_dict(), *(other.state_dict() for other in others), losses]
