"""GRU classifiers of waves and tokens, and a forecaster."""

from __future__ import annotations

from torch import nn

from bench.faultbench.families._recurrent import recurrent_recipe
from bench.faultbench.recipe import Recipe


def make(seed: int) -> Recipe:
    return recurrent_recipe("gru", nn.GRU, seed)
