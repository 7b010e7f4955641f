"""Dense autoencoder."""

from __future__ import annotations

from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.families._latent import surface
from bench.faultbench.layers import DENSE_KNOBS, dense
from bench.faultbench.recipe import Recipe, Style


class Autoencoder(nn.Module):
    """``encoder`` to a few numbers and ``decoder`` back."""

    def __init__(self, features: int, latent: int, style: Style) -> None:
        super().__init__()
        self.encoder = dense(features, latent, style)
        self.decoder = dense(latent, features, style)

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


def make(seed: int) -> Recipe:
    rng = _common.source("autoencoder", seed)
    features, latent = rng.choice([16, 24]), rng.choice([3, 4])
    objective, metric = tasks.standard_parts("regression", rng)
    steps = rng.choice([200, 250])
    return Recipe(
        family="autoencoder",
        seed=seed,
        task="regression",
        style=_common.draw_style(rng, dropouts=(0.0,), widths=(32, 48), depths=(1, 2)),
        knobs=DENSE_KNOBS - {"dropout", "norm"},
        tags=frozenset({"float_input", "vector_input", "amp", "plain_stack", "self_target"}),
        build=lambda style: Autoencoder(features, latent + 1, style),
        draw=surface(seed, features, latent),
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, {"momentum": 0.15, "adam": 4e-3, "adamw": 4e-3, "rmsprop": 2e-3}),
        batch=rng.choice([32, 64]),
        steps=steps,
        samples=rng.choice([1024, 4096]),
        loop=_common.draw_loop(rng, steps),
    )
