"""A recurrent cell unrolled by hand."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common, _sequences
from bench.faultbench.recipe import Recipe, Style


class HandmadeRNN(nn.Module):
    """h = tanh(W [x, h]) step by step, with a Linear (naming 0), an RNNCell (1) or two maps (2)."""

    def __init__(self, inputs: int, outputs: int, style: Style) -> None:
        super().__init__()
        self.style = style
        hidden = style.width
        if style.naming % 3 == 0:
            self.i2h = nn.Linear(inputs + hidden, hidden)
        elif style.naming % 3 == 1:
            self.cell = nn.RNNCell(inputs, hidden)
        else:
            self.input_map = nn.Linear(inputs, hidden)
            self.state_map = nn.Linear(hidden, hidden, bias=False)
        self.drop = nn.Dropout(style.dropout)
        self.h2o = nn.Linear(hidden, outputs)

    def forward(self, x: Tensor) -> Tensor:
        state = x.new_zeros(len(x), self.style.width)
        total = torch.zeros_like(state)
        for part in x.unbind(1):
            if self.style.naming % 3 == 0:
                state = torch.tanh(self.i2h(torch.cat([part, state], 1)))
            elif self.style.naming % 3 == 1:
                state = self.cell(part, state)
            else:
                state = torch.tanh(self.input_map(part) + self.state_map(state))
            total = total + state
        return self.h2o(self.drop(total / x.shape[1] if self.style.naming >= 3 else state))


def make(seed: int) -> Recipe:
    rng = _common.source("rnn_cell", seed)
    goal = rng.choice(["waves", "forecast"])
    classes = rng.choice([2, 3]) if goal == "waves" else 0
    task = "classes" if classes else "regression"
    objective, metric = tasks.standard_parts(task, rng)
    steps = rng.choice([150, 180])

    style = _common.draw_style(rng, dropouts=(0.0, 0.0, 0.1), widths=(16, 24, 32), length=rng.choice([8, 10]))
    if not classes:
        style.naming %= 3

    def draw(count: int, generator: torch.Generator, style: Style):  # type: ignore[no-untyped-def]
        if classes:
            return _sequences.wave_classes(count, generator, style.length, classes)
        return _sequences.forecast(count, generator, style.length)

    return Recipe(
        family="rnn_cell",
        seed=seed,
        task=task,
        style=style,
        knobs=frozenset({"dropout", "width", "length"}),
        tags=frozenset({"float_input", "recurrent", "last_layer"}),
        build=lambda style: HandmadeRNN(2 if classes else 1, classes or 1, style),
        draw=draw,
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, {"momentum": 0.05, "adam": 4e-3, "rmsprop": 2e-3}),
        batch=32,
        steps=steps,
        samples=rng.choice([512, 2048]),
        classes=classes,
        loop=_common.draw_loop(rng, steps, amp=False),
    )
