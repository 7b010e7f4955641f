"""Spikes of the gradient, and what was there before them."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.causes._findings.update.gradient_norm import comes_with_the_data
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import finite
from neuraldbg.records import Finding


def gradient_spikes(run: Run) -> Finding:
    """A gradient more than ten times the running level, out of a healthy stretch."""
    steps, norm = run.of_optimizer("gradient.norm")
    if norm.size < 20:
        return unmeasured()
    found = (0.0, 0)
    for index in range(10, norm.size):
        before = finite(norm[max(0, index - 20) : index])
        if before.size < 8:
            continue
        middle = float(np.median(before))
        value = norm[index] if np.isfinite(norm[index]) else math.inf
        if middle > 0 and value > 10 * middle and not found[0]:
            found = (min(value / middle, 1e9), int(steps[index]))
    return when(
        found[0] > 0,
        f"at step {found[1]} the gradient was {found[0]:.3g} times its running level",
        step=found[1],
        ratio=found[0],
    )


def spike_without_trigger(run: Run) -> Finding:
    """A gradient spike at which neither the learning rate, nor the inputs, nor the targets did anything unusual."""
    spike = gradient_spikes(run)
    if spike.present is None:
        return unmeasured()
    if not spike.present or spike.step is None or comes_with_the_data(run, spike.step):
        return absent()
    _steps, rates = run.learning_rate
    recent = run.learning_rate_at(np.array([max(0, spike.step - 30), spike.step]))
    if rates.size and recent[1] > 2 * recent[0]:
        return absent()
    for quantity in ("input.absmax", "target.max", "target.min", "input.std"):
        series = run.series(quantity)
        for index in range(len(series.places)):
            column = np.abs(series.values[:, index])
            near = np.abs(series.steps - spike.step) <= 1
            before = (series.steps < spike.step - 1) & np.isfinite(column)
            # A target got back from a residual is infinite where a huge prediction leaves nothing of it.
            known = np.isfinite(column) if quantity.startswith("target") else ~np.isnan(column)
            at = column[near & known]
            if at.size and before.sum() >= 5 and at.max() > 3 * max(float(np.max(column[before][-40:])), 1e-12):
                return absent()
    return present(f"at step {spike.step} neither the data nor the learning rate did anything unusual", step=spike.step)


def spike_after_learning(run: Run) -> Finding:
    """The first gradient spike comes after step 15, when the loss had fallen by a fifth at least."""
    spike = gradient_spikes(run)
    curve = run.loss
    if spike.present is None or curve is None:
        return unmeasured()
    if not spike.present or spike.step is None or spike.step < 15 or comes_with_the_data(run, spike.step):
        return absent()
    if not curve.ordinary_before(spike.step):
        return absent()
    before = curve.values[(curve.steps < spike.step) & np.isfinite(curve.values)]
    if before.size < 10:
        return absent()
    reached = float(np.median(before[-10:]))
    return when(
        reached < 0.8 * curve.first,
        f"the loss had fallen to {reached:.3g} before the spike at step {spike.step}",
        step=spike.step,
    )
