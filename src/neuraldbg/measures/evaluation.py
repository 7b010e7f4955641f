"""Losses without gradients, and the training loss around them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from neuraldbg.measures.run import Run
from neuraldbg.records import Place

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def evaluations(run: Run) -> tuple[IntArray, FloatArray] | None:
    """Step and mean loss of every evaluation of the stream with the most of them; None with fewer than two."""
    series = run.series("evaluation.loss")
    if not series:
        return None
    seen = np.isfinite(series.values).sum(axis=0)
    steps, values = series.column(series.names[int(seen.argmax())])
    steps, values = steps[np.isfinite(values)], values[np.isfinite(values)]
    unique = np.unique(steps)
    if unique.size < 2:
        return None
    return unique, np.array([float(values[steps == step].mean()) for step in unique])


def training_near(run: Run, steps: IntArray) -> FloatArray:
    """Mean training loss over the twentieth of the run before each step; NaN where there was none; shape (steps,)."""
    curve = run.loss
    out = np.full(steps.shape, np.nan)
    if curve is None:
        return out
    width = max(3, curve.count // 20)
    for index, step in enumerate(steps):
        near = (curve.steps <= step) & (curve.steps > step - width) & np.isfinite(curve.values)
        if near.any():
            out[index] = float(curve.values[near].mean())
    return out


def levels_at_end(run: Run) -> tuple[float, float] | None:
    """Training and validation loss over the last fifth of the evaluations; None with fewer than two evaluations."""
    found = evaluations(run)
    if found is None:
        return None
    steps, values = found
    tail = max(1, values.size // 5)
    training = training_near(run, steps)[-tail:]
    training = training[np.isfinite(training)]
    return float(np.mean(training)) if training.size else math.nan, float(np.mean(values[-tail:]))


def in_train_mode(run: Run) -> list[Place]:
    """Modules with a training mode that mostly ran in train mode in forwards without gradients.

    A dropout that drops while the model around it is in eval mode was put in train mode by itself, and is meant to drop
    (Monte Carlo dropout: Gal and Ghahramani, 2016).
    """
    series = run.series("evaluation.training")
    if not series:
        return []
    training = [(place, float(np.nanmean(series.values[:, i])) > 0.5) for i, place in enumerate(series.places)]
    whole = [on for place, on in training if not place.details.get("has_mode")]
    by_itself = bool(whole) and not any(whole)
    return [
        place
        for place, on in training
        if on and place.details.get("has_mode") and not (by_itself and "probability" in place.details)
    ]
