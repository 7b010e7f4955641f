"""Residual convolutional classifier."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.families._images import stripes
from bench.faultbench.layers import activation, norm2d
from bench.faultbench.recipe import Recipe, Style

SIZE = 12


class BasicBlock(nn.Module):
    """x + f(x); the sum goes through an activation (naming even) or the branch starts with one (odd)."""

    def __init__(self, width: int, style: Style) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1 = norm2d(style, width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = norm2d(style, width)
        self.act = activation(style)
        self.first = style.naming % 2 == 1

    def forward(self, x: Tensor) -> Tensor:
        if self.first:
            return x + self.conv2(self.act(self.bn2(self.conv1(self.act(self.bn1(x) + 0.0)))))
        return self.act(x + self.bn2(self.conv2(self.act(self.bn1(self.conv1(x))))))


class ResNet(nn.Module):
    """Stem, stages with pooling between, average pool, fully connected."""

    def __init__(self, channels: int, outputs: int, style: Style) -> None:
        super().__init__()
        self.style = style
        self.conv1 = nn.Conv2d(channels, style.width, 3, padding=1)
        self.layer1 = nn.Sequential(BasicBlock(style.width, style))
        self.layer2 = nn.Sequential(*(BasicBlock(style.width, style) for _ in range(max(1, style.depth - 1))))
        self.dropout = nn.Dropout(style.dropout)
        self.fc = nn.Linear(style.width * 9, outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer1(F.max_pool2d(self.conv1(x), 2))
        if self.style.skip is None:
            x = self.layer2(x)
        return self.fc(self.dropout(F.adaptive_avg_pool2d(x, 3).flatten(1)))


def make(seed: int) -> Recipe:
    rng = _common.source("resnet", seed)
    channels, classes, noise = rng.choice([1, 3]), rng.choice([3, 4, 6]), rng.choice([0.5, 0.9, 1.2])
    objective, metric = tasks.standard_parts("classes", rng)
    steps = rng.choice([120, 150])
    return Recipe(
        family="resnet",
        seed=seed,
        task="classes",
        style=_common.draw_style(
            rng, activations=("relu", "relu", "silu", "leaky_relu"), norms=("batch", "batch", "layer"), widths=(8, 12)
        ),
        knobs=frozenset({"activation", "dropout", "width", "depth", "pre_scale", "skip"}),
        tags=frozenset({"float_input", "images", "amp", "residual"}),
        build=lambda style: ResNet(channels, classes, style),
        draw=lambda count, generator, style: stripes(count, generator, SIZE, channels, classes, noise),
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng),
        batch=rng.choice([16, 32]),
        steps=steps,
        samples=rng.choice([512, 2048]),
        classes=classes,
        loop=_common.draw_loop(rng, steps),
    )
