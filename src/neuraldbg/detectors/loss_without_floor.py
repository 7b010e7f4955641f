"""The loss falls below what its kind allows, or without bound.

## What it detects
A loss that by its kind cannot be negative (cross entropy, squares, absolute values) and is; or a loss that falls below
zero ever faster.

## Why it matters
It is maximized where it should be minimized: the lower the number, the worse the model.

## Evidence
`loss.value`; fact `loss.structure` (kinds of the terms).

## When it is wrong
Log-densities, contrastive and policy losses can be negative and fall for long; they are only named when the fall speeds
up.

## References
Goodfellow, Bengio and Courville 2016, Deep Learning, section 6.2.1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.loss_structure import BOUNDED_BELOW
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import LOSS
from neuraldbg.records import SemanticEvent

NEEDS = ("loss.value",)


def detect(run: Run) -> Iterator[SemanticEvent]:
    curve = run.loss
    if curve is None or curve.count < 4:
        return
    kinds = {str(term["kind"]) for term in curve.terms}
    below = np.flatnonzero(curve.finite < -1e-6)
    steps = curve.steps[np.isfinite(curve.values)]
    if kinds and kinds <= BOUNDED_BELOW and curve.end < -1e-6 and below.size:
        yield _event(
            steps, int(below[0]), f"the loss is {curve.end:.3g}, and by its kind cannot be negative", curve.end, 0.98
        )
        return
    if curve.count < 30:
        return
    parts = [float(np.median(part)) for part in np.array_split(curve.finite, 4)]
    falls = [a - b for a, b in itertools.pairwise(parts)]
    faster = falls[2] > 0.8 * max(falls[1], 1e-12) and falls[1] > 0.5 * falls[0] > 0
    if faster and parts[3] < -1 and parts[3] < -3 * abs(parts[0]) and below.size:
        yield _event(steps, int(below[0]), f"the loss falls without bound, to {parts[3]:.3g}", parts[3], 0.8)


def _event(steps: np.ndarray, first: int, sentence: str, end: float, confidence: float) -> SemanticEvent:
    return saw(
        "optimizer_instability",
        "diverging",
        (int(steps[first]), int(steps[-1])),
        sentence,
        subject=LOSS,
        findings=("loss_below_its_floor", "loss_falls_without_bound"),
        confidence=confidence,
        end=end,
    )
