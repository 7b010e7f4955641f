"""A batch norm takes its statistics from hardly any samples.

## What it detects
A batch norm in train mode whose batch holds one or two samples, or that sees at most four values per channel.

## Why it matters
The mean and variance of a few values are noise; with one sample the output is zero whatever the input.

## Evidence
`module.normalized_batch`, `module.normalized_samples`.

## When it is wrong
With large images one sample has thousands of values per channel; accuracy suffers mildly and training goes on.

## References
Ioffe and Szegedy 2015; Wu and He 2018, Group normalization, figure 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import named, saw
from neuraldbg.measures.run import Run
from neuraldbg.records import SemanticEvent

NEEDS = ("module.normalized_batch", "module.normalized_samples")

#: Samples, and values per channel (Wu and He 2018: error rises steeply below a batch of 8, most at 2).
SAMPLES, VALUES = 2, 4


def detect(run: Run) -> Iterator[SemanticEvent]:
    batches, values = run.series("module.normalized_batch"), run.series("module.normalized_samples")
    few = []
    for name in batches.names:
        steps, batch = batches.column(name)
        _, per_channel = values.column(name)
        if batch.size and per_channel.size and (np.median(batch) <= SAMPLES or np.median(per_channel) <= VALUES):
            few.append((name, int(steps[0]), int(steps[-1]), float(np.median(batch)), float(np.median(per_channel))))
    if few:
        name, first, last, batch_size, count = few[0]
        yield saw(
            "wiring_fault",
            "faulty",
            (first, last),
            (
                f"batch norm {named(name)} takes its statistics from "
                f"{batch_size:.0f} sample(s), {count:.0f} values per channel"
            ),
            layer=name,
            findings=("batch_norm_sees_few_samples",),
            confidence=0.9,
            samples=batch_size,
            values=count,
            modules=len(few),
        )
