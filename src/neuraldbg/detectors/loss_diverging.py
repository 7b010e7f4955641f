"""The loss leaves its lowest level and stays up.

## What it detects
The step at which the smoothed loss leaves its minimum for good, by a quarter of its whole range and four times its
noise; or a loss that ends above where it began; or one whose swings grow.

## Why it matters
From that step on training destroys what it had learned.

## Evidence
`loss.value`, smoothed over a twentieth of the run.

## When it is wrong
Losses that are trained against each other have no lowest level; they are left out. Annealed terms (a KL weight that
rises) raise the sum by design.

## References
Wortsman et al. 2023, Small-scale proxies for large-scale Transformer training instabilities.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import LOSS
from neuraldbg.records import SemanticEvent

NEEDS = ("loss.value",)

#: Share of the lowest level by which the end has to lie above it: less is the noise of a short run.
RISE = 0.1


def detect(run: Run) -> Iterator[SemanticEvent]:
    curve = run.loss
    if curve is None or curve.count < 8 or run.adversarial:
        return
    last = int(curve.steps[-1])
    step = run.trouble_step if run.bad_step is None else None
    best = curve.best
    if step is not None and curve.end - best > RISE * abs(best):
        yield saw(
            "optimizer_instability",
            "diverging",
            (step, last),
            f"the loss leaves its lowest level of {best:.3g} and ends at {curve.end:.3g}",
            subject=LOSS,
            findings=("loss_left_its_best", "loss_ends_above_start"),
            confidence=beyond(curve.end - best, max(4 * curve.noise, 1e-12)),
            best=best,
            end=curve.end,
        )
        return
    start = float(np.median(curve.finite[: max(3, min(10, curve.count // 10))]))
    level = max(RISE * abs(start), 3 * curve.noise / np.sqrt(curve.window), 1e-12)
    if curve.end - start > level:
        smooth = curve.smooth()
        above = np.flatnonzero(smooth > start + level)
        finite = np.flatnonzero(np.isfinite(curve.values))
        onset = int(curve.steps[finite[int(above[0])]]) if above.size else 0
        yield saw(
            "optimizer_instability",
            "diverging",
            (onset, last),
            f"the loss rises from {start:.3g} to {curve.end:.3g}",
            subject=LOSS,
            findings=("loss_ends_above_start",),
            confidence=beyond(curve.end - start, level),
            start=start,
            end=curve.end,
        )
