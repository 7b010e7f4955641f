"""Losses in several hands, and how good a run ended: 0 is perfect, 1 is what a constant predictor reaches."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Objective = Callable[[Any, Tensor, tuple[Tensor, ...]], Tensor]


def class_objective(rng: random.Random) -> Objective:
    """Cross-entropy of logits (N, C) and class ids (N,)."""
    module = nn.CrossEntropyLoss()
    return rng.choice(
        [
            lambda output, target, inputs: F.cross_entropy(output, target),
            lambda output, target, inputs: module(output, target),
            lambda output, target, inputs: F.nll_loss(F.log_softmax(output, dim=1), target),
            lambda output, target, inputs: F.cross_entropy(output, target, label_smoothing=0.02),
        ]
    )


def token_objective(rng: random.Random) -> Objective:
    """Cross-entropy of logits (N, T, V) and token ids (N, T)."""
    module = nn.CrossEntropyLoss()
    return rng.choice(
        [
            lambda output, target, inputs: F.cross_entropy(output.flatten(0, 1), target.flatten()),
            lambda output, target, inputs: F.cross_entropy(output.transpose(1, 2), target),
            lambda output, target, inputs: module(output.reshape(-1, output.shape[-1]), target.reshape(-1)),
        ]
    )


def binary_objective(rng: random.Random) -> Objective:
    """Binary cross-entropy of logits and 0/1 targets of one shape."""
    module = nn.BCEWithLogitsLoss()
    return rng.choice(
        [
            lambda output, target, inputs: F.binary_cross_entropy_with_logits(output, target),
            lambda output, target, inputs: module(output, target),
            lambda output, target, inputs: (F.softplus(output) - output * target).mean(),
        ]
    )


def regression_objective(rng: random.Random) -> Objective:
    """A distance of predictions and targets of one shape."""
    module = nn.MSELoss()
    return rng.choice(
        [
            lambda output, target, inputs: F.mse_loss(output, target),
            lambda output, target, inputs: module(output, target),
            lambda output, target, inputs: ((output - target) ** 2).mean(),
            lambda output, target, inputs: F.smooth_l1_loss(output, target),
            lambda output, target, inputs: F.l1_loss(output, target),
        ]
    )


def class_metric(predictions: Tensor, targets: Tensor) -> float:
    """Mean over classes of the error rate, over that of a guess; predictions are logits (..., C)."""
    chosen, right = predictions.argmax(-1).flatten(), targets.flatten()
    present = right.unique()
    errors = [(chosen[right == value] != value).float().mean().item() for value in present if value >= 0]
    if len(errors) < 2:
        return float(sum(errors))
    return sum(errors) / len(errors) / (1 - 1 / len(errors))


def binary_metric(predictions: Tensor, targets: Tensor) -> float:
    """Mean of the two error rates, over one half; predictions are logits."""
    chosen, right = predictions.flatten() > 0, targets.flatten() > 0.5
    errors = [
        (chosen[right == value] != value).float().mean().item() for value in (True, False) if (right == value).any()
    ]
    return sum(errors) / len(errors) / 0.5


def regression_metric(predictions: Tensor, targets: Tensor) -> float:
    """Mean squared error over the variance of the targets, per output column, capped at 10."""
    predictions, targets = predictions.reshape(len(targets), -1).float(), targets.reshape(len(targets), -1).float()
    error = ((predictions - targets) ** 2).mean(0)
    value = (error / targets.var(0, unbiased=False).clamp_min(1e-12)).mean().item()
    return min(value, 10.0)


def standard_parts(task: str, rng: random.Random) -> tuple[Objective, Callable[[Tensor, Tensor], float]]:
    """Loss and metric of a task."""
    return {
        "classes": (class_objective, class_metric),
        "tokens": (token_objective, class_metric),
        "binary": (binary_objective, binary_metric),
        "regression": (regression_objective, regression_metric),
    }[task][0](rng), {
        "classes": class_metric,
        "tokens": class_metric,
        "binary": binary_metric,
        "regression": regression_metric,
    }[task]


def identity(output: Any) -> Any:
    return output


def finite(value: Tensor) -> bool:
    return bool(torch.isfinite(value).all())
