"""Two inputs, one encoder: are they of one kind?"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.layers import DENSE_KNOBS, dense
from bench.faultbench.recipe import Dataset, Recipe, Style

FEATURES = 12


class Siamese(nn.Module):
    """The same ``encoder`` on both inputs; returns both embeddings."""

    def __init__(self, style: Style) -> None:
        super().__init__()
        self.encoder = dense(FEATURES, 8, style)
        self.normalized = style.naming % 2 == 0

    def forward(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        first, second = self.encoder(left), self.encoder(right)
        return (F.normalize(first, dim=1), F.normalize(second, dim=1)) if self.normalized else (first, second)


def squared_distance(output: Any) -> Tensor:
    return ((output[0] - output[1]) ** 2).sum(1)


def contrastive(output: Any, target: Tensor, inputs: tuple[Tensor, ...]) -> Tensor:
    """Pull equal pairs together, push others beyond a margin of one."""
    squared = squared_distance(output)
    apart = F.relu(1 - (squared + 1e-6).sqrt()) ** 2
    return (target * squared + (1 - target) * apart).mean()


def logistic(output: Any, target: Tensor, inputs: tuple[Tensor, ...]) -> Tensor:
    """Logistic loss of the margin 0.5 minus squared distance."""
    return F.binary_cross_entropy_with_logits(4 * (0.5 - squared_distance(output)), target)


def make(seed: int) -> Recipe:
    rng = _common.source("siamese", seed)
    kinds = rng.choice([3, 4])
    centers = torch.randn(kinds, FEATURES, generator=_common.teacher(seed))
    centers = 1.2 * centers / centers.std(1, keepdim=True)

    def side(label: Tensor, generator: torch.Generator) -> Tensor:
        sign = torch.randint(0, 2, (len(label), 1), generator=generator) * 2.0 - 1
        return (centers[label] * sign + 0.4 * torch.randn(len(label), FEATURES, generator=generator)) / 1.27

    def draw(count: int, generator: torch.Generator, style: Style) -> Dataset:
        first = torch.randint(0, kinds, (count,), generator=generator)
        same = torch.rand(count, generator=generator) < 0.5
        other = (first + torch.randint(1, kinds, (count,), generator=generator)) % kinds
        second = torch.where(same, first, other)
        return Dataset((side(first, generator), side(second, generator)), same.float())

    steps = rng.choice([220, 260])
    return Recipe(
        family="siamese",
        seed=seed,
        task="custom",
        style=_common.draw_style(rng, dropouts=(0.0, 0.05), widths=(32, 48)),
        knobs=DENSE_KNOBS - {"norm"},
        tags=frozenset({"float_input", "vector_input", "plain_stack", "nonlinear_task", "pairs"}),
        build=Siamese,
        draw=draw,
        objective=rng.choice([contrastive, logistic]),
        metric=tasks.binary_metric,
        predict=lambda output: 0.5 - squared_distance(output),
        optimizer=_common.draw_optimizer(rng, {"momentum": 0.05, "adam": 4e-3, "adamw": 4e-3, "rmsprop": 2e-3}),
        batch=rng.choice([32, 64]),
        steps=steps,
        samples=4096,
        good=0.6,
        loop=_common.draw_loop(rng, steps, amp=False),
    )
