"""Convolutional classifier with batch norm."""

from __future__ import annotations

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.families._convolutions import CONVOLUTION_KNOBS, convolutions
from bench.faultbench.families._images import stripes
from bench.faultbench.recipe import Recipe

SIZE = 12


def make(seed: int) -> Recipe:
    rng = _common.source("cnn_batchnorm", seed)
    channels, classes, noise = rng.choice([1, 3]), rng.choice([3, 4, 5]), rng.choice([0.5, 0.9, 1.2])
    objective, metric = tasks.standard_parts("classes", rng)
    steps = rng.choice([140, 180])
    return Recipe(
        family="cnn_batchnorm",
        seed=seed,
        task="classes",
        style=_common.draw_style(
            rng,
            activations=("relu", "relu", "leaky_relu", "gelu", "elu", "relu_inplace"),
            norms=("batch",),
            widths=(8, 12),
        ),
        knobs=CONVOLUTION_KNOBS,
        tags=frozenset({"float_input", "images", "amp", "plain_stack"}),
        build=lambda style: convolutions(channels, classes, SIZE, style),
        draw=lambda count, generator, style: stripes(count, generator, SIZE, channels, classes, noise),
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, _common.RATES),
        batch=rng.choice([16, 32]),
        steps=steps,
        samples=rng.choice([512, 2048]),
        classes=classes,
        loop=_common.draw_loop(rng, steps),
    )
