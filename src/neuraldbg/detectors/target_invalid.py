"""Targets are NaN, infinite, or outside the range that the loss accepts.

## What it detects
Targets that are not finite; class ids that do not exist; probabilities outside 0 to 1; a loss that refused its targets
with an error.

## Why it matters
The loss of such a batch is NaN or wrong while input and prediction are ordinary.

## Evidence
`target.nonfinite`, `target.out_of_range`, `target.min`, `target.max`; fact `run.exception`.

## When it is wrong
Ids to be ignored (`ignore_index`) are outside on purpose; they are not counted.

## References
PyTorch documentation, CrossEntropyLoss and BCELoss, "Shape".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import stretches
from neuraldbg.measures.subjects import TARGET
from neuraldbg.records import SemanticEvent

NEEDS = ("target.nonfinite", "target.out_of_range", "target.min", "target.max")


def detect(run: Run) -> Iterator[SemanticEvent]:
    yield from _series(run, "target.nonfinite", "nan", "are NaN or infinite", "target_non_finite")
    low, high = run.series("target.min").values, run.series("target.max").values
    low, high = low[np.isfinite(low)], high[np.isfinite(high)]
    extent = f" (from {low.min():.3g} to {high.max():.3g})" if low.size and high.size else ""
    words = f"lie outside the range that the loss accepts{extent}"
    yield from _series(run, "target.out_of_range", "outlier", words, "target_out_of_range")
    for fact in run.trace.facts("run.exception"):
        message = str(fact.data.get("message", ""))
        if ("out of bounds" in message and "arget" in message) or "between 0 and 1" in message:
            yield saw(
                "data_anomaly",
                "outlier",
                (fact.step, fact.step),
                f"the loss refused its targets: {message.splitlines()[0][:120]}",
                subject=TARGET,
                findings=("target_out_of_range",),
                confidence=1.0,
            )


def _series(run: Run, quantity: str, state: str, words: str, finding: str) -> Iterator[SemanticEvent]:
    series = run.series(quantity)
    for index in range(len(series.places)):
        for first, end in stretches(np.nan_to_num(series.values[:, index], posinf=1.0) > 0):
            yield saw(
                "data_anomaly",
                state,
                (series.steps[first], series.steps[end]),
                f"the targets {words}",
                subject=TARGET,
                findings=(finding,),
                confidence=1.0,
                amount=float(series.values[first, index]),
            )
