"""Vision transformer on small images."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.families._attention import ATTENTION_RATES, TRUNK_KNOBS, Trunk
from bench.faultbench.families._images import stripes
from bench.faultbench.recipe import Recipe, Style

SIZE, PATCH = 12, 4


class VisionTransformer(nn.Module):
    """Patches by a strided convolution, a class token or a mean, trunk, head."""

    def __init__(self, channels: int, classes: int, style: Style) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(channels, style.width, PATCH, stride=PATCH)
        self.pos_embed = nn.Parameter(0.1 * torch.randn(1, (SIZE // PATCH) ** 2 + 1, style.width))
        self.cls_token = nn.Parameter(0.1 * torch.randn(1, 1, style.width))
        self.mean = style.naming % 3 == 0
        self.trunk = Trunk(style, 2, causal=False)
        self.head = nn.Linear(style.width, classes)

    def forward(self, x: Tensor) -> Tensor:
        patches = self.patch_embed(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls_token.expand(len(x), -1, -1), patches], 1) + self.pos_embed
        tokens = self.trunk(tokens)
        return self.head(tokens.mean(1) if self.mean else tokens[:, 0])


def make(seed: int) -> Recipe:
    rng = _common.source("vit", seed)
    channels, classes = rng.choice([1, 3]), rng.choice([2, 3, 4])
    objective, metric = tasks.standard_parts("classes", rng)
    steps = rng.choice([150, 180])
    return Recipe(
        family="vit",
        seed=seed,
        task="classes",
        style=_common.draw_style(rng, activations=("gelu", "relu"), dropouts=(0.0, 0.1), widths=(24, 32), depths=(2,)),
        knobs=TRUNK_KNOBS | {"activation", "pre_scale"},
        tags=frozenset({"float_input", "images", "attention", "amp", "last_layer"}),
        build=lambda style: VisionTransformer(channels, classes, style),
        draw=lambda count, generator, style: stripes(count, generator, SIZE, channels, classes, 0.3),
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, ATTENTION_RATES),
        batch=rng.choice([16, 32]),
        steps=steps,
        samples=rng.choice([1024, 2048]),
        classes=classes,
        loop=_common.draw_loop(rng, steps),
    )
