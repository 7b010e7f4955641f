"""Small images with a pattern to recognise."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bench.faultbench.recipe import Dataset


def stripes(count: int, generator: torch.Generator, size: int, channels: int, classes: int, noise: float) -> Dataset:
    """Gratings of ``classes`` orientations with a random phase: images (count, channels, size, size), class ids."""
    label = torch.randint(0, classes, (count,), generator=generator)
    angle = label * math.pi / classes
    phase = torch.rand(count, 1, 1, generator=generator) * 2 * math.pi
    rows, columns = torch.meshgrid(torch.arange(float(size)), torch.arange(float(size)), indexing="ij")
    wave = rows * torch.sin(angle)[:, None, None] + columns * torch.cos(angle)[:, None, None]
    image = torch.sin(wave * 1.6 + phase)[:, None].repeat(1, channels, 1, 1)
    image = image * 1.3 + noise * torch.randn(image.shape, generator=generator)
    return Dataset((image / (0.85 + noise**2) ** 0.5,), label)


def blobs(count: int, generator: torch.Generator, size: int) -> tuple[Tensor, Tensor]:
    """Noisy images of a disc, and its mask: both (count, 1, size, size)."""
    rows, columns = torch.meshgrid(torch.arange(float(size)), torch.arange(float(size)), indexing="ij")
    center = 3 + (size - 6) * torch.rand(count, 2, 1, 1, generator=generator)
    radius = 2.2 + 1.8 * torch.rand(count, 1, 1, generator=generator)
    distance = ((rows - center[:, 0]) ** 2 + (columns - center[:, 1]) ** 2).sqrt()
    mask = (distance < radius).float()[:, None]
    sign = torch.randint(0, 2, (count, 1, 1, 1), generator=generator) * 2.0 - 1
    image = sign * mask * 1.8 + 0.5 * torch.randn(count, 1, size, size, generator=generator)
    return image / 0.85, mask
