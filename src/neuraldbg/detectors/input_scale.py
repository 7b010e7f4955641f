"""Inputs are far from zero mean and unit spread, or their features differ by orders of magnitude.

## What it detects
An input whose root mean square is above 8, or reaches above 100, or is below 0.02; features whose spreads differ by
more than a factor of a hundred while the largest is above 8.

## Why it matters
The first layer's gradient is in proportion to its input: inputs a hundred times too large make its gradient a hundred
times too large and saturate the first nonlinearity, and the largest feature hides all others.

## Evidence
`input.mean`, `input.std`, `input.absmax`, `input.feature_std_ratio`, `input.feature_std_max`, over the first ten
observed steps.

## When it is wrong
A model that normalizes first (a batch norm, a scaled embedding) does not mind; then no failure follows.

## References
LeCun, Bottou, Orr and Müller 1998, Efficient backprop, section 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import below, beyond, saw
from neuraldbg.measures.inputs import model_inputs
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import INPUT
from neuraldbg.records import SemanticEvent

NEEDS = ("input.mean", "input.std", "input.absmax", "input.feature_std_ratio", "input.feature_std_max")

#: Root mean square: standardized inputs have 1, pixels in 0 to 1 have 0.5, one-hot rows less.
LARGE, FAR, TINY = 8.0, 100.0, 0.02
#: Spread of the widest feature over that of the narrowest.
UNEQUAL = 100.0


def detect(run: Run) -> Iterator[SemanticEvent]:
    means, tops = model_inputs(run, "input.mean"), model_inputs(run, "input.absmax")
    spreads = model_inputs(run, "input.std")
    for name, (steps, spread) in spreads.items():
        if not spread.size or name not in means or name not in tops:
            continue
        center, own = float(np.median(means[name][1][:10])), float(np.median(spread[:10]))
        size, top = math.hypot(center, own), float(np.median(tops[name][1][:10]))
        if not math.isfinite(size):
            continue
        words = f"has mean {center:.3g} and spread {own:.3g}, up to {top:.3g} (healthy: about 0 and 1)"
        if size > LARGE or top > FAR:
            found = ("inputs_out_of_scale", "inputs_far_off_scale") if size > LARGE else ("inputs_far_off_scale",)
            yield _event(
                name,
                steps,
                words,
                found,
                max(beyond(size, LARGE), beyond(top, FAR)),
                spread=own,
                mean=center,
                largest=top,
            )
        elif 0 < size < TINY and all(np.median(values[:10]) < TINY for _, values in spreads.values()):
            yield _event(name, steps, words, ("inputs_tiny",), below(size, TINY), spread=own, mean=center)
    widest = model_inputs(run, "input.feature_std_max")
    for name, (steps, ratio) in model_inputs(run, "input.feature_std_ratio").items():
        if not ratio.size or name not in widest:
            continue
        typical, peak = float(np.median(ratio[:10])), float(np.median(widest[name][1][:10]))
        if typical > UNEQUAL and peak > LARGE and math.isfinite(typical):
            words = f"has features whose spreads differ by a factor of {typical:.3g}"
            yield _event(name, steps, words, ("features_of_unequal_scale",), beyond(typical, UNEQUAL), ratio=typical)


def _event(
    name: str, steps: np.ndarray, words: str, findings: tuple[str, ...], confidence: float, **numbers: float
) -> SemanticEvent:
    subject = f"{INPUT} {name}"
    return saw(
        "data_anomaly",
        "unscaled",
        (int(steps[0]), int(steps[-1])),
        f"{subject} {words}",
        subject=subject,
        findings=findings,
        confidence=confidence,
        numbers=numbers,
    )
