"""Segmentation: a two-level U-Net that marks the pixels of a disc."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.families._convolutions import Block
from bench.faultbench.families._images import blobs
from bench.faultbench.recipe import Dataset, Recipe, Style

SIZE = 12


class UNet(nn.Module):
    """Encoder, bottom, decoder with a skip connection, 1×1 output."""

    def __init__(self, style: Style) -> None:
        super().__init__()
        self.style = style
        width = style.width
        self.down1 = Block(1, width, style)
        self.down2 = Block(width, 2 * width, style)
        self.bottom = nn.Sequential(*(Block(2 * width, 2 * width, style) for _ in range(style.depth - 1)))
        self.drop = nn.Dropout2d(style.dropout)
        self.up1 = Block(3 * width, width, style)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        high = self.down1(x)
        low = self.down2(F.max_pool2d(high, 2))
        if self.style.skip is None:
            low = self.bottom(low)
        low = F.interpolate(self.drop(low), scale_factor=2)
        return self.out(self.up1(torch.cat([high, low], 1)))


def make(seed: int) -> Recipe:
    rng = _common.source("unet", seed)
    objective, metric = tasks.standard_parts("binary", rng)
    steps = rng.choice([120, 150])
    return Recipe(
        family="unet",
        seed=seed,
        task="binary",
        style=_common.draw_style(
            rng,
            activations=("relu", "leaky_relu", "relu_inplace"),
            norms=("none", "batch", "batch"),
            widths=(6, 8),
            depths=(2,),
        ),
        knobs=frozenset({"activation", "dropout", "width", "depth", "pre_scale", "skip"}),
        tags=frozenset({"float_input", "images", "amp", "dense_target"}),
        build=UNet,
        draw=lambda count, generator, style: _pair(*blobs(count, generator, SIZE)),
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, {"momentum": 0.1, "adam": 6e-3, "adamw": 6e-3, "rmsprop": 4e-3}),
        batch=rng.choice([8, 16]),
        steps=steps,
        samples=rng.choice([256, 1024]),
        loop=_common.draw_loop(rng, steps),
    )


def _pair(image: Tensor, mask: Tensor) -> Dataset:
    return Dataset((image,), mask)
