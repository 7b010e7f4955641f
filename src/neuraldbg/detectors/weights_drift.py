"""The weights shrink towards zero, or grow without end.

## What it detects
The median of the norms of the weight matrices falls below half of what it was, or rises above three times.

## Why it matters
Shrinking weights forget: the signal through the model gets smaller until only the mean is predicted. Growing ones make
activations and logits grow with them.

## Evidence
`parameter.weight_norm` of matrices, against their own first value.

## When it is wrong
Weights before a normalization may change their norm freely; weights that started too small grow with good reason.

## References
Loshchilov and Hutter 2019, Decoupled weight decay regularization; van Laarhoven 2017.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import WEIGHTS
from neuraldbg.records import SemanticEvent

NEEDS = ("parameter.weight_norm",)

#: Factors of the median norm.
SHRUNK, GROWN = 0.5, 3.0
ROWS = 10


def detect(run: Run) -> Iterator[SemanticEvent]:
    series = run.series("parameter.weight_norm")
    columns = []
    for index, place in enumerate(series.places):
        column = series.values[:, index]
        if len(place.details.get("shape", ())) >= 2 and column.size >= ROWS and column[0] > 1e-6:
            columns.append(column / column[0])
    if not columns:
        return
    table = np.vstack(columns)
    known = np.isfinite(table).any(axis=0)
    steps = series.steps[known]
    middle = np.array([float(np.median(row[np.isfinite(row)])) for row in table[:, known].T])
    if not middle.size:
        return
    end = float(middle[-1])
    if end < SHRUNK or end > GROWN:
        beyond_bound = middle < SHRUNK if end < SHRUNK else middle > GROWN
        first = int(np.flatnonzero(beyond_bound)[0])
        shrunk = end < SHRUNK
        words = f"shrink to {100 * end:.2g} % of" if shrunk else f"grow to {end:.2g} times"
        yield saw(
            "optimizer_instability",
            "not_learning" if shrunk else "diverging",
            (steps[first], steps[-1]),
            f"the weights {words} their norm at the start",
            subject=WEIGHTS,
            findings=("weights_shrink",) if shrunk else ("weights_grow",),
            confidence=beyond(1 / max(end, 1e-30) if shrunk else end, 1 / SHRUNK if shrunk else GROWN),
            ratio=end,
        )
