"""Convolutional classifier without normalization."""

from __future__ import annotations

from collections.abc import Mapping

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.families._convolutions import CONVOLUTION_KNOBS, convolutions
from bench.faultbench.families._images import stripes
from bench.faultbench.recipe import Recipe

SIZE = 12


def make(seed: int) -> Recipe:
    return classifier("cnn", "none", {**_common.RATES, "momentum": 0.02, "sgd": 0.1}, seed)


def classifier(family: str, norm: str, rates: Mapping[str, float], seed: int) -> Recipe:
    """A classifier of stripes with one kind of norm, or none, and the learning rates that suit it."""
    rng = _common.source(family, seed)
    channels, classes, noise = rng.choice([1, 3]), rng.choice([3, 4, 5]), rng.choice([0.5, 0.9, 1.2])
    objective, metric = tasks.standard_parts("classes", rng)
    steps = rng.choice([140, 180])
    return Recipe(
        family=family,
        seed=seed,
        task="classes",
        style=_common.draw_style(
            rng,
            activations=("relu", "relu", "leaky_relu", "gelu", "elu", "relu_inplace"),
            norms=(norm,),
            widths=(8, 12),
        ),
        knobs=CONVOLUTION_KNOBS,
        tags=frozenset({"float_input", "images", "amp", "plain_stack"}),
        build=lambda style: convolutions(channels, classes, SIZE, style),
        draw=lambda count, generator, style: stripes(count, generator, SIZE, channels, classes, noise),
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, rates),
        batch=rng.choice([16, 32]),
        steps=steps,
        samples=rng.choice([512, 2048]),
        classes=classes,
        loop=_common.draw_loop(rng, steps),
    )
