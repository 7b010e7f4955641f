"""One batch lies far outside of what came before.

## What it detects
An input whose largest value, or targets whose extreme, is six times the median and 2.5 times the largest of the forty
observed batches before, with ordinary batches after it.

## Why it matters
A single extreme batch makes a single extreme gradient, and the step that follows takes the model off course.

## Evidence
`input.absmax`; `target.min`, `target.max`.

## When it is wrong
Data with heavy tails has such batches now and then, and a robust loss or clipping bears them.

## References
Huber 1981, Robust statistics.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, saw
from neuraldbg.measures.inputs import model_inputs, outlier
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import INPUT, TARGET
from neuraldbg.records import SemanticEvent

NEEDS = ("input.absmax", "target.min", "target.max")


def detect(run: Run) -> Iterator[SemanticEvent]:
    for name, (steps, largest) in model_inputs(run, "input.absmax").items():
        found = outlier(largest, 5, need_return=True) if largest.size >= 12 else None
        if found is not None:
            yield _event(f"{INPUT} {name}", int(steps[found[0]]), found[1], "input_outlier")
    low, high = run.series("target.min"), run.series("target.max")
    for name in high.names:
        steps, top = high.column(name)
        _, bottom = low.column(name)
        if top.size != bottom.size:
            continue
        found = outlier(np.maximum(np.abs(top), np.abs(bottom)), 8, need_return=False)
        if found is not None:
            yield _event(TARGET, int(steps[found[0]]), found[1], "target_outlier")


def _event(subject: str, step: int, factor: float, finding: str) -> SemanticEvent:
    verb = "reach" if subject == TARGET else "reaches"
    return saw(
        "data_anomaly",
        "outlier",
        (step, step),
        f"{subject} {verb} {factor:.0f} times the usual extreme",
        subject=subject,
        findings=(finding, "outlier_meets_loss_jump"),
        confidence=beyond(factor, 6.0),
        ratio=factor,
    )
