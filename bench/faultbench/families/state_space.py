"""A diagonal linear state-space layer with a gate, scanned over time."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common, _sequences
from bench.faultbench.layers import activation
from bench.faultbench.recipe import Recipe, Style


class StateSpace(nn.Module):
    """s ← decay · s + B x, output gate(x) · (C s + D x), with a residual."""

    def __init__(self, style: Style) -> None:
        super().__init__()
        width = style.width
        self.norm = nn.LayerNorm(width)
        self.log_decay = nn.Parameter(torch.linspace(-2.0, 2.0, width))
        self.input_map, self.output_map = nn.Linear(width, width), nn.Linear(width, width)
        self.gate = nn.Linear(width, width)
        self.act = activation(style)
        self.drop = nn.Dropout(style.dropout)

    def forward(self, x: Tensor) -> Tensor:
        normed = self.norm(x)
        drive, gate = self.input_map(normed), self.act(self.gate(normed))
        decay = torch.exp(-torch.exp(self.log_decay))
        state, states = torch.zeros_like(drive[:, 0]), []
        for part in drive.unbind(1):
            state = decay * state + (1 - decay) * part
            states.append(state)
        return x + self.drop(self.output_map(torch.stack(states, 1) * gate))


class StateSpaceModel(nn.Module):
    """``embed``, ``layers``, ``head`` on the mean over time."""

    def __init__(self, inputs: int, outputs: int, style: Style) -> None:
        super().__init__()
        self.style = style
        self.embed = nn.Linear(inputs, style.width)
        self.layers = nn.ModuleList(StateSpace(style) for _ in range(style.depth))
        self.norm = nn.LayerNorm(style.width)
        self.head = nn.Linear(style.width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        for index, layer in enumerate(self.layers):
            if index != self.style.skip:
                x = layer(x)
        return self.head(self.norm(x[:, -1] if self.style.naming % 2 else x.mean(1)))


def make(seed: int) -> Recipe:
    rng = _common.source("state_space", seed)
    goal = rng.choice(["waves", "forecast"])
    classes = rng.choice([2, 3]) if goal == "waves" else 0
    task = "classes" if classes else "regression"
    objective, metric = tasks.standard_parts(task, rng)
    style = _common.draw_style(
        rng,
        activations=("silu", "sigmoid", "gelu"),
        dropouts=(0.0, 0.1),
        widths=(24, 32),
        depths=(1, 2),
        length=rng.choice([10, 12]),
    )
    if goal == "forecast":
        style.naming |= 1
    steps = rng.choice([140, 170])

    def draw(count: int, generator: torch.Generator, style: Style):  # type: ignore[no-untyped-def]
        if classes:
            return _sequences.wave_classes(count, generator, style.length, classes)
        return _sequences.forecast(count, generator, style.length)

    return Recipe(
        family="state_space",
        seed=seed,
        task=task,
        style=style,
        knobs=frozenset({"dropout", "width", "depth", "skip", "length"}),
        tags=frozenset({"float_input", "last_layer", "amp"}),
        build=lambda style: StateSpaceModel(2 if classes else 1, classes or 1, style),
        draw=draw,
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, {"momentum": 0.05, "adam": 5e-3, "adamw": 5e-3, "rmsprop": 2e-3}),
        batch=32,
        steps=steps,
        samples=rng.choice([512, 2048]),
        classes=classes,
        loop=_common.draw_loop(rng, steps),
    )
