"""The statistics of the input change at one step and stay changed; or differ between training and validation.

## What it detects
A lasting change of the input's mean by more than half of its spread, or of its spread by more than a factor of 1.4,
well outside of its own jitter. The same between forwards with and without gradients.

## Why it matters
What the model learned holds for the data it saw. A change of preprocessing shows as a loss that breaks, or as
validation that fails where training does not.

## Evidence
`input.mean`, `input.std` of places of the kinds input (training) and evaluation (validation).

## When it is wrong
Sorted data drifts by itself; a validation set of another population differs for good reason.

## References
Page 1954, Continuous inspection schemes; Rabanser, Günnemann and Lipton 2019, Failing loudly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, saw
from neuraldbg.measures.inputs import level_shift, model_inputs
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import INPUT
from neuraldbg.records import SemanticEvent

NEEDS = ("input.mean", "input.std")

#: In spreads of the input, or in factors of two of the spread.
BOUND = 0.5
#: Observed rows below which a change of level cannot be told from noise.
ROWS = 20


def detect(run: Run) -> Iterator[SemanticEvent]:
    means = model_inputs(run, "input.mean")
    for name, (steps, spread) in model_inputs(run, "input.std").items():
        if spread.size < ROWS or name not in means or not np.isfinite(spread).all():
            continue
        mean = means[name][1]
        unit = max(float(np.median(spread)), 1e-12)
        by_mean = level_shift(mean, unit) if mean.size == spread.size else None
        by_spread = level_shift(np.log(np.maximum(spread, 1e-12)), math.log(2.0))
        found = max((shift for shift in (by_mean, by_spread) if shift is not None), key=lambda s: s[1], default=None)
        if found is None or found[1] <= BOUND:
            continue
        row = found[0]
        before = f"mean {np.median(mean[:row]):.3g}, spread {np.median(spread[:row]):.3g}"
        after = f"mean {np.median(mean[row:]):.3g}, spread {np.median(spread[row:]):.3g}"
        yield _event(
            name,
            (int(steps[row]), int(steps[-1])),
            f"goes from {before} to {after} and stays there",
            ("input_level_shifted",),
            found[1],
        )
    yield from _validation(run)


def _validation(run: Run) -> Iterator[SemanticEvent]:
    spreads, means = run.series("input.std"), run.series("input.mean")
    training, other = spreads.of_kind("input"), spreads.of_kind("evaluation")
    for name in training.names:
        _steps, own = training.column(name)
        _, center = means.of_kind("input").column(name)
        at, own_other = other.column(name)
        _, center_other = means.of_kind("evaluation").column(name)
        if not (own.size and own_other.size and center.size and center_other.size) or not np.median(own) > 0:
            continue
        unit = float(np.median(own))
        jitter, jitter_scale = float(np.std(center)) / unit, float(np.std(np.log(np.maximum(own, 1e-12))))
        shift = abs(float(np.median(center) - np.median(center_other))) / unit
        scale = abs(math.log(max(float(np.median(own_other)), 1e-12) / unit))
        size = max(shift / max(0.5, 6 * jitter), scale / max(0.35, 6 * jitter_scale))
        if size > 1 and math.isfinite(size):
            words = (
                f"has mean {np.median(center):.3g} and spread {unit:.3g} in training, "
                f"{np.median(center_other):.3g} and {np.median(own_other):.3g} in validation"
            )
            yield _event(name, (int(at[0]), int(at[-1])), words, ("validation_inputs_differ",), size)


def _event(name: str, steps: tuple[int, int], words: str, findings: tuple[str, ...], size: float) -> SemanticEvent:
    subject = f"{INPUT} {name}"
    return saw(
        "data_anomaly",
        "shifted",
        steps,
        f"{subject} {words}",
        subject=subject,
        findings=findings,
        confidence=beyond(size, BOUND),
        size=size,
    )
