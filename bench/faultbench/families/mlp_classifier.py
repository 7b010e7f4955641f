"""Dense classifier: each class has two opposite clusters, so that no linear map tells them apart."""

from __future__ import annotations

import torch

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.layers import DENSE_KNOBS, dense
from bench.faultbench.recipe import Dataset, Recipe, Style


def make(seed: int) -> Recipe:
    rng = _common.source("mlp_classifier", seed)
    features, classes = rng.choice([8, 12, 20]), rng.choice([2, 3, 4, 6])
    centers = torch.randn(classes, features, generator=_common.teacher(seed))
    centers = centers / centers.std(1, keepdim=True) * 1.2
    noise = rng.choice([0.3, 0.5, 0.6])

    def draw(count: int, generator: torch.Generator, style: Style) -> Dataset:
        label = torch.randint(0, classes, (count,), generator=generator)
        side = torch.randint(0, 2, (count, 1), generator=generator) * 2.0 - 1
        x = centers[label] * side + noise * torch.randn(count, features, generator=generator)
        return Dataset((x / (1.44 + noise**2) ** 0.5,), label)

    objective, metric = tasks.standard_parts("classes", rng)
    steps = rng.choice([180, 220, 260])
    return Recipe(
        family="mlp_classifier",
        seed=seed,
        task="classes",
        style=_common.draw_style(rng, norms=("none", "none", "layer", "batch"), widths=(32, 48, 64)),
        knobs=DENSE_KNOBS,
        tags=frozenset({"float_input", "vector_input", "amp", "plain_stack", "nonlinear_task"}),
        build=lambda style: dense(features, classes, style),
        draw=draw,
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng),
        batch=rng.choice([16, 32, 64]),
        steps=steps,
        samples=rng.choice([1024, 4096]),
        classes=classes,
        loop=_common.draw_loop(rng, steps),
    )
