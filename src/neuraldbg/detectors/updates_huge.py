"""A step moves the weights by a large share of their norm.

## What it detects
Steps that move the weights by more than a tenth of their norm, for the model and for the layers where it holds; and
steps more than ten times as long as the run's own running level.

## Why it matters
A gradient is valid near the weights at which it was taken. A step of that length lands where it says nothing: ReLU
units die, activations saturate, the loss jumps.

## Evidence
`update.ratio` (norm of the update over norm of the weights), `parameter.update_norm`, `parameter.weight_norm`.

## When it is wrong
Weights that start at zero (biases, the last layer of a residual branch) move by many times their norm at first; only
matrices count, and only those that are not near zero.

## References
Karpathy 2019, A recipe for training neural networks (update to weight ratio near 1e-3); You et al. 2017 (LARS).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, named, saw, times
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.measures.stretches import level_before, stretches
from neuraldbg.measures.subjects import UPDATES
from neuraldbg.records import SemanticEvent

NEEDS = ("update.ratio", "parameter.update_norm", "parameter.weight_norm")

#: Norm of the update over norm of the weights; mid-training values lie between 1e-4 and 1e-2.
BOUND = 0.1
#: Times the run's own running median.
JUMP = 10.0
#: A layer counts when its own ratio is this many times the bound of the model.
LAYER_BOUND = 0.3


def detect(run: Run) -> Iterator[SemanticEvent]:
    steps, ratio = run.of_optimizer("update.ratio")
    level = level_before(ratio, at_least=8)
    with np.errstate(divide="ignore", invalid="ignore"):
        jump = np.where((level > 0) & np.isfinite(level), ratio / level, 0.0)
    large = (ratio > BOUND) & np.isfinite(ratio)
    for first, end in stretches(large | ((jump > JUMP) & (ratio > 1e-3) & np.isfinite(ratio))):
        top = float(np.nanmax(np.where(np.isfinite(ratio[first : end + 1]), ratio[first : end + 1], np.nan)))
        begin, stop = int(steps[first]), int(steps[end])
        typical = f", {times(float(jump[first]))} the running level" if jump[first] > JUMP else ""
        worst = _layers(run, begin, stop)
        where = f", {named(worst[0][0])} by {100 * worst[0][1]:.3g} %" if worst else ""
        early = begin < 10
        yield saw(
            "optimizer_instability",
            "spike" if end - first < 5 and not early else "diverging",
            (begin, stop),
            f"a step moves the weights by {100 * top:.3g} % of their norm{where}{typical} (healthy: 0.01 to 1 %)",
            subject=UPDATES,
            findings=("updates_huge_at_start", "updates_large", "first_steps_overshoot")
            if early
            else ("updates_large",),
            confidence=beyond(top, BOUND) if top > BOUND else beyond(float(jump[first]), JUMP),
            ratio=top,
            layers=[layer for layer, _ in worst] or None,
        )


def _layers(run: Run, first: int, last: int) -> list[tuple[str, float]]:
    """Layers whose weight matrix moved by a large share of its norm, the largest first."""
    updates, weights = run.series("parameter.update_norm"), run.series("parameter.weight_norm")
    norms = {name: index for index, name in enumerate(weights.names)}
    rows = (updates.steps >= first) & (updates.steps <= last)
    found: dict[str, float] = {}
    for index, place in enumerate(updates.places):
        if len(place.details.get("shape", ())) < 2 or place.name not in norms:
            continue
        moved = updates.values[rows, index]
        sizes = weights.values[(weights.steps >= first) & (weights.steps <= last), norms[place.name]]
        moved, sizes = moved[np.isfinite(moved)], sizes[np.isfinite(sizes)]
        if moved.size and sizes.size and sizes.min() > 1e-6:
            share = float(moved.max() / sizes.min())
            if share > LAYER_BOUND:
                found[owner_of(place.name)] = max(share, found.get(owner_of(place.name), 0.0))
    return sorted(found.items(), key=lambda item: -item[1])[:16]
