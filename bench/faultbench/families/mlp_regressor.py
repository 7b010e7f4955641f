"""Dense regression of a smooth nonlinear function."""

from __future__ import annotations

import torch

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.layers import DENSE_KNOBS, dense
from bench.faultbench.recipe import Dataset, Recipe, Style


def make(seed: int) -> Recipe:
    rng = _common.source("mlp_regressor", seed)
    features, outputs = rng.choice([4, 6, 8]), rng.choice([1, 1, 1, 3])
    truth = _common.teacher(seed)
    first, second = (torch.randn(features, outputs, generator=truth) / features**0.5 for _ in range(2))
    noise = rng.choice([0.0, 0.05, 0.2])

    def draw(count: int, generator: torch.Generator, style: Style) -> Dataset:
        x = torch.randn(count, features, generator=generator)
        y = ((x @ first).abs() - 0.8) * 1.5 + 0.5 * (x @ second)
        return Dataset((x,), y + noise * torch.randn(y.shape, generator=generator))

    objective, metric = tasks.standard_parts("regression", rng)
    steps = rng.choice([200, 250, 300])
    return Recipe(
        family="mlp_regressor",
        seed=seed,
        task="regression",
        style=_common.draw_style(rng, norms=("none", "none", "layer"), dropouts=(0.0, 0.0, 0.05), widths=(32, 48, 64)),
        knobs=DENSE_KNOBS,
        tags=frozenset({"float_input", "vector_input", "amp", "plain_stack", "nonlinear_task"}),
        build=lambda style: dense(features, outputs, style),
        draw=draw,
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, {**_common.RATES, "sgd": 0.1}),
        batch=rng.choice([16, 32, 64]),
        steps=steps,
        samples=rng.choice([512, 2048, 8192]),
        loop=_common.draw_loop(rng, steps),
    )
