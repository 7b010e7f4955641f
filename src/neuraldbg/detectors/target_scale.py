"""Regression targets are far from unit scale.

## What it detects
Targets of a squared or absolute loss whose root mean square is above 10 or below 0.02.

## Why it matters
The gradient at the output is in proportion to the residual, which at first is the target itself: targets in the
hundreds make the first updates a hundred times too long, and the last bias has a long way to go.

## Evidence
`target.mean`, `target.std` over the first fifty observed steps.

## When it is wrong
An adaptive optimizer and a bias that starts at the mean cope with large targets.

## References
LeCun, Bottou, Orr and Müller 1998, Efficient backprop, section 4.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from neuraldbg.detectors._event import below, beyond, saw
from neuraldbg.measures.inputs import target_scale
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import TARGET
from neuraldbg.records import SemanticEvent

NEEDS = ("target.mean", "target.std")

#: Root mean square of the targets; 1 when they are standardized.
LARGE, TINY = 10.0, 0.02


def detect(run: Run) -> Iterator[SemanticEvent]:
    scale = target_scale(run)
    if scale is None:
        return
    mean, spread = scale
    size = math.hypot(mean, spread)
    if not math.isfinite(size) or TINY <= size <= LARGE or size == 0:
        return
    yield saw(
        "data_anomaly",
        "unscaled",
        (0, max(0, run.trace.last_step)),
        f"the targets lie around {mean:.3g} with a spread of {spread:.3g} (healthy: about 0 and 1)",
        subject=TARGET,
        findings=("targets_out_of_scale",) if size > LARGE else ("targets_tiny",),
        confidence=beyond(size, LARGE) if size > LARGE else below(size, TINY),
        mean=mean,
        spread=spread,
    )
