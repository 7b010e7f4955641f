"""Variational autoencoder."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.families._latent import surface
from bench.faultbench.layers import DENSE_KNOBS, dense
from bench.faultbench.recipe import Recipe, Style


class VAE(nn.Module):
    """Encoder, ``mu`` and ``logvar``, sample, decoder; returns all three as a tuple, or a dict (odd naming)."""

    def __init__(self, features: int, latent: int, style: Style) -> None:
        super().__init__()
        self.encoder = dense(features, style.width, style)
        self.mu, self.logvar = nn.Linear(style.width, latent), nn.Linear(style.width, latent)
        self.decoder = dense(latent, features, style)
        self.named = style.naming % 2 == 1

    def forward(self, x: Tensor) -> Any:
        hidden = torch.relu(self.encoder(x))
        mean, log_variance = self.mu(hidden), self.logvar(hidden)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp() if self.training else mean
        decoded = self.decoder(code)
        return dict(recon=decoded, mu=mean, logvar=log_variance) if self.named else (decoded, mean, log_variance)


def parts(output: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Reconstruction, mean, log-variance of either form."""
    return (output["recon"], output["mu"], output["logvar"]) if isinstance(output, dict) else output


def make(seed: int) -> Recipe:
    rng = _common.source("vae", seed)
    features, latent, weight = rng.choice([16, 24]), rng.choice([3, 4]), rng.choice([0.005, 0.01, 0.02])

    def objective(output: Any, target: Tensor, inputs: tuple[Tensor, ...]) -> Tensor:
        decoded, mean, log_variance = parts(output)
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(1).mean()
        return ((decoded - target) ** 2).mean() + weight * divergence

    steps = rng.choice([220, 260])
    return Recipe(
        family="vae",
        seed=seed,
        task="custom",
        style=_common.draw_style(
            rng, activations=("relu", "leaky_relu", "gelu", "silu"), dropouts=(0.0,), widths=(32, 48), depths=(1, 2)
        ),
        knobs=DENSE_KNOBS - {"dropout", "norm"},
        tags=frozenset({"float_input", "vector_input", "plain_stack", "self_target", "latent"}),
        build=lambda style: VAE(features, latent + 2, style),
        draw=surface(seed, features, latent),
        objective=objective,
        metric=tasks.regression_metric,
        predict=lambda output: parts(output)[0],
        optimizer=_common.draw_optimizer(rng, {"momentum": 0.25, "adam": 4e-3, "adamw": 4e-3, "rmsprop": 2e-3}),
        batch=rng.choice([32, 64]),
        steps=steps,
        samples=rng.choice([1024, 4096]),
        good=0.65,
        loop=_common.draw_loop(rng, steps, amp=False),
    )
