"""Transformer encoder that classifies token sequences."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common, _sequences
from bench.faultbench.families._attention import ATTENTION_RATES, TRUNK_KNOBS, Trunk
from bench.faultbench.recipe import Recipe, Style

VOCABULARY = 24


class Encoder(nn.Module):
    """Embedding and positions, trunk, mean over the tokens, classifier."""

    def __init__(self, classes: int, style: Style) -> None:
        super().__init__()
        self.tok = nn.Embedding(VOCABULARY, style.width)
        self.pos = nn.Parameter(0.1 * torch.randn(1, 64, style.width))
        self.encoder = Trunk(style, 2, causal=False)
        self.classifier = nn.Linear(style.width, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tok(tokens) + self.pos[:, : tokens.shape[1]]
        return self.classifier(self.encoder(x).mean(1))


class LibraryEncoder(nn.Module):
    """The same on nn.TransformerEncoder, with batch_first."""

    def __init__(self, classes: int, style: Style) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, style.width)
        layer = nn.TransformerEncoderLayer(
            style.width,
            2,
            2 * style.width,
            style.dropout,
            batch_first=True,
            norm_first=not style.extra.get("post_norm"),
        )
        self.encoder = nn.TransformerEncoder(layer, style.depth, enable_nested_tensor=False)
        self.head = nn.Linear(style.width, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.encoder(self.embedding(tokens)).mean(1))


def make(seed: int) -> Recipe:
    rng = _common.source("transformer_encoder", seed)
    classes = rng.choice([2, 3, 4])
    lean = _sequences.lean_of(VOCABULARY, classes, _common.teacher(seed))
    objective, metric = tasks.standard_parts("classes", rng)
    style = _common.draw_style(
        rng, activations=("relu", "gelu"), dropouts=(0.0, 0.1), widths=(16, 24, 32), depths=(1, 2), length=10
    )
    style.extra["post_norm"] = rng.random() < 0.3
    library = rng.random() < 0.3
    steps = rng.choice([120, 150])
    return Recipe(
        family="transformer_encoder",
        seed=seed,
        task="classes",
        style=style,
        knobs=frozenset({"dropout", "width", "depth"}) if library else TRUNK_KNOBS | {"activation", "pre_scale"},
        tags=frozenset({"token_input", "attention", "amp", "last_layer"}),
        build=lambda style: (LibraryEncoder if library else Encoder)(classes, style),
        draw=lambda count, generator, style: _sequences.leaning(lean, count, generator, style.length, classes),
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, ATTENTION_RATES),
        batch=rng.choice([16, 32]),
        steps=steps,
        samples=rng.choice([512, 2048]),
        classes=classes,
        loop=_common.draw_loop(rng, steps),
    )
