"""Graph network on dense adjacency matrices: graphs or their nodes are classified."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.layers import activation
from bench.faultbench.recipe import Dataset, Recipe, Style

NODES, FEATURES = 8, 6


class GraphConvolution(nn.Module):
    """Mean over the neighbours, then a linear map, beside one of the node itself."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own, self.neighbours = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        return self.own(x) + self.neighbours(adjacency @ x)


class GraphNetwork(nn.Module):
    """``convs``, mean over the nodes, ``readout``."""

    def __init__(self, outputs: int, style: Style) -> None:
        super().__init__()
        self.style = style
        widths = [FEATURES] + [style.width] * style.depth
        self.convs = nn.ModuleList(GraphConvolution(a, b) for a, b in itertools.pairwise(widths))
        self.act = activation(style)
        self.readout = nn.Linear(style.width, outputs)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        for index, conv in enumerate(self.convs):
            if index == self.style.skip and index > 0:
                continue
            x = self.act(conv(x, adjacency))
            if self.style.dropout:
                x = F.dropout(x, self.style.dropout, self.training)
        return self.readout(x.mean(1))


def make(seed: int) -> Recipe:
    rng = _common.source("gnn", seed)
    goal = rng.choice(["classes", "regression"])
    classes = 2 if goal == "classes" else 0
    direction = torch.randn(FEATURES, generator=_common.teacher(seed))
    direction = direction / direction.norm()

    def draw(count: int, generator: torch.Generator, style: Style) -> Dataset:
        links = (torch.rand(count, NODES, NODES, generator=generator) < 0.35).float()
        links = ((links + links.transpose(1, 2)) > 0).float()
        adjacency = links / links.sum(2, keepdim=True).clamp_min(1)
        x = torch.randn(count, NODES, FEATURES, generator=generator)
        x = x + torch.randn(count, 1, 1, generator=generator) * direction
        signal = (adjacency @ (x @ direction)[..., None])[..., 0].abs().mean(1)
        score = (signal - 0.85) / 0.55
        return Dataset((x, adjacency), (score > -0.2).long() if classes else score[:, None])

    objective, metric = tasks.standard_parts(goal, rng)
    steps = rng.choice([160, 200])
    return Recipe(
        family="gnn",
        seed=seed,
        task=goal,
        style=_common.draw_style(
            rng, activations=("relu", "relu", "gelu", "elu", "tanh"), dropouts=(0.0, 0.1), widths=(24, 32)
        ),
        knobs=frozenset({"activation", "dropout", "width", "depth", "pre_scale", "skip"}),
        tags=frozenset({"float_input", "plain_stack", "nonlinear_task"}),
        build=lambda style: GraphNetwork(classes or 1, style),
        draw=draw,
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(
            rng, {"sgd": 0.2, "momentum": 0.05, "adam": 5e-3, "adamw": 5e-3, "rmsprop": 3e-3}
        ),
        batch=32,
        steps=steps,
        samples=rng.choice([512, 2048]),
        classes=classes,
        loop=_common.draw_loop(rng, steps, amp=False),
    )
