"""Batches that are alike because the data is in order."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.measures.loss_curve import class_shares
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import level_before
from neuraldbg.records import Finding


def batches_ordered_by_target(run: Run) -> Finding:
    """Within a batch targets are nearly alike while the run's targets are not; successive batches are alike."""
    curve = run.loss
    if curve is None:
        return unmeasured()
    name = curve.place.name
    shares = class_shares(run.trace, name)
    _, entropy = run.series("target.entropy").column(name)
    _, top_class = run.series("target.top_class").column(name)
    if shares is not None and entropy.size >= 10:
        positive = shares[0][shares[0] > 0]
        whole = float(-(positive * np.log(positive)).sum())
        within = float(np.median(entropy))
        runs = float(np.mean(np.diff(top_class) == 0)) if top_class.size > 1 else 0.0
        batch = run.series("loss.elements").column(name)[1]
        enough = not batch.size or float(np.median(batch)) >= 4
        return when(
            whole > 0.3 and within < 0.4 * whole and enough and (runs > 0.5 or within < 0.1 * whole),
            f"the targets of a batch are nearly all of one class (entropy {within:.2g}, over the run {whole:.2g})",
            within=within,
            whole=whole,
        )
    _, spread = run.series("target.std").column(name)
    _steps, mean = run.series("target.mean").column(name)
    spread, mean = spread[np.isfinite(spread)], mean[np.isfinite(mean)]
    if spread.size >= 20 and mean.size == spread.size:
        between, inside = float(np.var(mean)), float(np.mean(spread**2))
        centered = mean - mean.mean()
        lag = float((centered[1:] * centered[:-1]).sum() / max((centered**2).sum(), 1e-30))
        return when(
            between > 3 * max(inside, 1e-30) and inside > 0 and lag > 0.3,
            f"targets differ between batches {math.sqrt(between / max(inside, 1e-30)):.1f} times as much as within",
            ratio=between / max(inside, 1e-30),
        )
    return absent() if entropy.size or spread.size else unmeasured()


def predictions_chase_batches(run: Run) -> Finding:
    """The loss falls within a block of alike batches and jumps at its border, again and again."""
    curve = run.loss
    if curve is None or curve.count < 40:
        return unmeasured()
    values = curve.finite
    jumps = np.diff(values)
    level = np.nan_to_num(level_before(np.abs(values), width=20, at_least=1)[1:], nan=np.inf)
    ups = np.flatnonzero(jumps > np.maximum(0.5 * np.maximum(level, 1e-12), 6 * float(np.median(np.abs(jumps)))))
    return when(
        3 <= ups.size < 0.15 * values.size, f"the loss jumps {ups.size} times and falls in between", jumps=ups.size
    )
