"""Vectors that lie near a curved surface of few dimensions."""

from __future__ import annotations

from collections.abc import Callable

import torch

from bench.faultbench.families import _common
from bench.faultbench.recipe import Dataset, Style


def surface(seed: int, features: int, latent: int) -> Callable[[int, torch.Generator, Style], Dataset]:
    """A draw of vectors (count, features) of unit scale; the target is the input itself."""
    truth = _common.teacher(seed)
    first = torch.randn(latent, features, generator=truth) / latent**0.5
    second = torch.randn(latent, features, generator=truth) / latent**0.5

    def draw(count: int, generator: torch.Generator, style: Style) -> Dataset:
        hidden = torch.randn(count, latent, generator=generator)
        x = hidden @ first + 0.7 * torch.sin(hidden @ second) + 0.05 * torch.randn(count, features, generator=generator)
        return Dataset((x / 1.15,), x / 1.15)

    return draw
