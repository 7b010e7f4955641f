"""A recurrent model whose gradients spike now and then, and nobody clips them."""

from __future__ import annotations

import random

import torch
from torch import nn

from bench.faultbench.families import _sequences
from bench.faultbench.injectors._base import injector, label
from bench.faultbench.places import parents, weighted
from bench.faultbench.recipe import OptimizerChoice, Recipe
from bench.faultbench.tasks import regression_metric


def _spiky(recipe: Recipe) -> bool:
    return "recurrent" in recipe.tags and recipe.task == "regression"


def _long_and_clipped(recipe: Recipe, rng: random.Random) -> None:
    """Long windows, a bold rate with momentum, and a clip that makes it work."""
    recipe.style.length = rng.choice([24, 30, 36])
    recipe.style.depth = 1
    recipe.steps = rng.choice([200, 240])
    recipe.loop.scheduler = None
    recipe.loop.clip = rng.choice([0.3, 0.5])
    recipe.loop.accumulate = 1
    recipe.style.extra["plain_rnn"] = True
    recipe.optimizer = OptimizerChoice("sgd", rng.uniform(0.08, 0.12), momentum=0.9)
    recipe.objective = lambda output, target, inputs: nn.functional.mse_loss(output, target)
    recipe.metric = regression_metric
    recipe.draw = lambda count, generator, style: _sequences.forecast(count, generator, style.length, ahead=4)
    if recipe.family in ("lstm", "gru"):
        recipe.build = lambda style: ElmanForecaster(style.width)


class ElmanForecaster(nn.Module):
    """nn.RNN and a readout: the recurrent layer that spikes most easily."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.rnn = nn.RNN(1, width, batch_first=True)
        self.fc = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.rnn(x)[0][:, -1])


@injector("missing_gradient_clipping", applies=_spiky, prepare=_long_and_clipped, judge="failure")
def missing_gradient_clipping(recipe: Recipe, rng: random.Random, strength: float) -> None:
    recipe.loop.clip = None
    recipe.optimizer.learning_rate *= 1 + 0.5 * strength
    paths = weighted(recipe)
    places = (*paths, *(place for path in paths for place in parents(path)), "")
    label(
        recipe,
        "missing_gradient_clipping",
        "recurrent",
        tuple(dict.fromkeys(places)),
        (3, recipe.steps - 1),
        also=("exploding_depth", "learning_rate_too_high"),
    )
