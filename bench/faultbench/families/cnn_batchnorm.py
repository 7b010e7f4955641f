"""Convolutional classifier with batch norm."""

from __future__ import annotations

from bench.faultbench.families import _common
from bench.faultbench.families.cnn import classifier
from bench.faultbench.recipe import Recipe


def make(seed: int) -> Recipe:
    return classifier("cnn_batchnorm", "batch", _common.RATES, seed)
