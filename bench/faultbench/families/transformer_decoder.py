"""Causal transformer that predicts the next token of a Markov chain."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common, _sequences
from bench.faultbench.families._attention import TRUNK_KNOBS, Trunk
from bench.faultbench.recipe import Recipe, Style


class Decoder(nn.Module):
    """Token and position embeddings, causal trunk, language head (tied for odd naming)."""

    def __init__(self, vocabulary: int, style: Style) -> None:
        super().__init__()
        self.wte = nn.Embedding(vocabulary, style.width)
        self.wpe = nn.Embedding(64, style.width)
        nn.init.normal_(self.wte.weight, std=0.2)
        nn.init.normal_(self.wpe.weight, std=0.02)
        self.transformer = Trunk(style, 2, causal=True)
        self.lm_head = nn.Linear(style.width, vocabulary, bias=False)
        if style.naming in (1, 3):
            self.lm_head.weight = self.wte.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        return self.lm_head(self.transformer(x))


def make(seed: int) -> Recipe:
    rng = _common.source("transformer_decoder", seed)
    vocabulary = rng.choice([12, 16, 24])
    table = torch.randperm(vocabulary, generator=_common.teacher(seed))
    objective, metric = tasks.standard_parts("tokens", rng)
    steps = rng.choice([120, 150])
    return Recipe(
        family="transformer_decoder",
        seed=seed,
        task="tokens",
        style=_common.draw_style(
            rng, activations=("relu", "gelu"), dropouts=(0.0, 0.1), widths=(16, 32), depths=(1, 2), length=12
        ),
        knobs=TRUNK_KNOBS | {"activation", "pre_scale"},
        tags=frozenset({"token_input", "attention", "amp", "last_layer", "language"}),
        build=lambda style: Decoder(vocabulary, style),
        draw=lambda count, generator, style: _sequences.chain(table, count, generator, style.length),
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, {"momentum": 0.1, "adam": 5e-3, "adamw": 5e-3, "rmsprop": 2e-3}),
        batch=rng.choice([8, 16]),
        steps=steps,
        samples=rng.choice([512, 1024]),
        classes=vocabulary,
        loop=_common.draw_loop(rng, steps),
    )
