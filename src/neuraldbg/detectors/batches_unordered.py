"""Batches come in the order of their targets.

## What it detects
Within a batch the classes (or values) of the targets are nearly alike, while over the run they are not, and successive
batches resemble each other.

## Why it matters
The model learns one class after the other and forgets the one before: the loss falls within a block and jumps at its
border, and the last bias follows the block.

## Evidence
`target.entropy` and `target.top_class` per batch against fact `target.histogram`; `target.mean` and `target.std` for
regression.

## When it is wrong
Batches of one or two samples are of one class by necessity; they are left out. Continual learning does it on purpose.

## References
Bengio 2012, Practical recommendations for gradient-based training (shuffling).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, saw
from neuraldbg.measures.loss_curve import class_shares
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import TARGET
from neuraldbg.records import SemanticEvent

NEEDS = ("target.entropy", "target.top_class", "target.std", "target.mean", "loss.elements")

#: Entropy of a batch over that of the run; batches drawn at random of 8 and more have above 0.7.
SHARE = 0.4
#: Variance between batches over variance within; 1/N for batches of N drawn at random.
BETWEEN = 3.0


def detect(run: Run) -> Iterator[SemanticEvent]:
    curve = run.loss
    if curve is None:
        return
    name = curve.place.name
    shares = class_shares(run.trace, name)
    steps, entropy = run.series("target.entropy").column(name)
    if shares is not None and entropy.size >= 10:
        present = shares[0][shares[0] > 0]
        whole, within = float(-(present * np.log(present)).sum()), float(np.median(entropy))
        _, top = run.series("target.top_class").column(name)
        alike = float(np.mean(np.diff(top) == 0)) if top.size > 1 else 0.0
        _, size = run.series("loss.elements").column(name)
        enough = not size.size or float(np.median(size)) >= 4
        if whole > 0.3 and within < SHARE * whole and enough and (alike > 0.5 or within < 0.1 * whole):
            words = f"of a batch are nearly all of one class (entropy {within:.2g}, over the run {whole:.2g})"
            yield _event(steps, words, beyond(whole, max(within, 1e-3) / SHARE), within=within, whole=whole)
        return
    steps, mean = run.series("target.mean").column(name)
    _, spread = run.series("target.std").column(name)
    if mean.size != spread.size or mean.size < 20 or not (np.isfinite(mean).all() and np.isfinite(spread).all()):
        return
    between, inside = float(np.var(mean)), float(np.mean(spread**2))
    centered = mean - mean.mean()
    follows = float((centered[1:] * centered[:-1]).sum() / max(float((centered**2).sum()), 1e-30))
    if between > BETWEEN * inside > 0 and follows > 0.3:
        ratio = between / inside
        words = f"differ between batches {math.sqrt(ratio):.1f} times as much as within"
        yield _event(steps, words, beyond(ratio, BETWEEN), ratio=ratio)


def _event(steps: np.ndarray, words: str, confidence: float, **numbers: float) -> SemanticEvent:
    return saw(
        "data_anomaly",
        "unordered",
        (int(steps[0]), int(steps[-1])),
        f"the targets {words}",
        subject=TARGET,
        findings=("batches_ordered_by_target", "predictions_chase_batches"),
        confidence=confidence,
        numbers=numbers,
    )
