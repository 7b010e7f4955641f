"""Generator and discriminator with an optimizer each."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.layers import dense
from bench.faultbench.recipe import Dataset, Phase, Recipe, Style

NOISE = 4


class Adversarial(nn.Module):
    """Holds both networks; its forward draws as many fakes as it is given reals."""

    def __init__(self, style: Style) -> None:
        super().__init__()
        self.generator = dense(NOISE, 2, style)
        self.discriminator = dense(2, 1, style)

    def forward(self, real: Tensor) -> Tensor:
        return self.generator(torch.randn(len(real), NOISE))


def distance(fake: Tensor, real: Tensor) -> float:
    """Error of mean and spread, over the distance of the real mean from the origin."""
    error = (fake.mean(0) - real.mean(0)).norm() + 0.3 * (fake.std(0) - real.std(0)).norm()
    return min((error / real.mean(0).norm()).item(), 10.0)


def phases(recipe: Recipe) -> list[Phase]:
    def loss_of(scores: Tensor, value: float) -> Tensor:
        return F.binary_cross_entropy_with_logits(scores, torch.full_like(scores, value))

    def judge(model: nn.Module, batch: Dataset, step: int) -> tuple[Tensor, Any]:
        fake = model.generator(torch.randn(len(batch), NOISE)).detach()
        real = loss_of(model.discriminator(batch.inputs[0]), 0.9)
        return real + loss_of(model.discriminator(fake), 0.0), fake

    def forge(model: nn.Module, batch: Dataset, step: int) -> tuple[Tensor, Any]:
        fake = model.generator(torch.randn(len(batch), NOISE))
        loss = loss_of(model.discriminator(fake), 1.0)
        for change in recipe.on_loss:
            loss = change(loss, step)
        return loss, fake

    return [
        Phase("discriminator", judge, lambda model: model.discriminator.parameters()),
        Phase("generator", forge, lambda model: model.generator.parameters()),
    ]


def make(seed: int) -> Recipe:
    rng = _common.source("gan", seed)
    center = torch.tensor([rng.choice([-1, 1]) * rng.uniform(1.2, 1.8), rng.uniform(1.2, 1.8)])

    def draw(count: int, generator: torch.Generator, style: Style) -> Dataset:
        x = center + torch.tensor([0.5, 0.3]) * torch.randn(count, 2, generator=generator)
        return Dataset((x,), x)

    steps = rng.choice([180, 220])
    loop = _common.draw_loop(rng, steps, amp=False, validation=False)
    loop.accumulate = 1
    loop.scheduler = None
    optimizer = _common.draw_optimizer(rng, {"adam": 4e-3, "rmsprop": 1.5e-3})
    optimizer.betas = (0.5, 0.99)
    return Recipe(
        family="gan",
        seed=seed,
        task="custom",
        style=_common.draw_style(
            rng, activations=("leaky_relu", "relu"), dropouts=(0.0,), widths=(24, 32), depths=(1, 2)
        ),
        knobs=frozenset(),
        tags=frozenset({"adversarial"}),
        build=Adversarial,
        draw=draw,
        objective=lambda output, target, inputs: output.sum() * 0,
        metric=distance,
        predict=tasks.identity,
        optimizer=optimizer,
        batch=32,
        steps=steps,
        samples=2048,
        good=0.6,
        loop=loop,
        phases=phases,
    )
