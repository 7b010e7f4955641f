"""What the LSTM and the GRU family share."""

from __future__ import annotations

import random

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common, _sequences
from bench.faultbench.recipe import Recipe, Style


class Recurrent(nn.Module):
    """Recurrent layer, then a head on the last state (or on the mean over time)."""

    def __init__(self, kind: type[nn.RNNBase], inputs: int, outputs: int, style: Style) -> None:
        super().__init__()
        self.style = style
        self.rnn = kind(inputs, style.width, num_layers=style.depth, batch_first=True)
        self.dropout = nn.Dropout(style.dropout)
        self.fc = nn.Linear(style.width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        out, _ = self.rnn(x)
        return self.fc(self.dropout(out.mean(1) if self.style.naming % 3 == 2 else out[:, -1]))


class TokenRecurrent(nn.Module):
    """Embedding, recurrent layer, dense head."""

    def __init__(self, kind: type[nn.RNNBase], vocabulary: int, outputs: int, style: Style) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, style.width)
        self.encoder = kind(style.width, style.width, num_layers=style.depth, batch_first=True)
        self.hidden = nn.Linear(style.width, style.width)
        self.drop = nn.Dropout(style.dropout)
        self.out = nn.Linear(style.width, outputs)

    def forward(self, tokens: Tensor) -> Tensor:
        out, _ = self.encoder(self.embedding(tokens))
        return self.out(self.drop(F.relu(self.hidden(out[:, -1]))))


def recurrent_recipe(family: str, kind: type[nn.RNNBase], seed: int) -> Recipe:
    """A classifier of waves, a classifier of tokens, or a forecaster."""
    rng: random.Random = _common.source(family, seed)
    goal = rng.choice(["waves", "tokens", "forecast"])
    classes = rng.choice([2, 3]) if goal != "forecast" else 0
    lean = _sequences.lean_of(24, max(classes, 1), _common.teacher(seed))
    task = "regression" if goal == "forecast" else "classes"
    objective, metric = tasks.standard_parts(task, rng)
    steps = rng.choice([140, 180]) if goal != "tokens" else 180
    tags = {"recurrent", "last_layer"} | ({"float_input"} if goal != "tokens" else {"token_input"})

    def build(style: Style) -> nn.Module:
        if goal == "tokens":
            return TokenRecurrent(kind, 24, classes, style)
        return Recurrent(kind, 2 if goal == "waves" else 1, classes or 1, style)

    def draw(count: int, generator: torch.Generator, style: Style):  # type: ignore[no-untyped-def]
        if goal == "tokens":
            return _sequences.leaning(lean, count, generator, style.length, classes)
        if goal == "waves":
            return _sequences.wave_classes(count, generator, style.length, classes)
        return _sequences.forecast(count, generator, style.length)

    rates = {"adam": 6e-3, "adamw": 6e-3, "rmsprop": 4e-3} | ({} if goal == "tokens" else {"momentum": 0.15})
    return Recipe(
        family=family,
        seed=seed,
        task=task,
        style=_common.draw_style(rng, widths=(16, 24, 32), depths=(1, 1, 2), length=rng.choice([10, 14])),
        knobs=frozenset({"dropout", "width", "depth", "length"}),
        tags=frozenset(tags),
        build=build,
        draw=draw,
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, rates),
        batch=rng.choice([16, 32]),
        steps=steps,
        samples=rng.choice([512, 2048]),
        classes=classes,
        loop=_common.draw_loop(rng, steps, amp=False),
    )
