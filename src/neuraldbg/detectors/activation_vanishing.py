"""The differences between samples die out on their way through the model.

## What it detects
In one forward the spread across samples at a module's output is below a thousandth of that at the first module of the
path, step after step.

## Why it matters
What is the same for every sample carries no information: behind that module the model can only learn a constant.

## Evidence
`module.output_batch_spread` over the longest path of the data flow.

## When it is wrong
A prediction head that starts at zero (the last layer of a residual branch, a LoRA matrix) is silent at first and wakes
up; its stretch ends after a few steps.

## References
Glorot and Bengio 2010; Schoenholz, Gilmer, Ganguli and Sohl-Dickstein 2017, Deep information propagation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import below, named, saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import median, stretches
from neuraldbg.records import SemanticEvent

NEEDS = ("module.output_batch_spread",)

#: Ratio of spreads: three powers of ten.
BOUND = 1e-3
ROWS = 5


def detect(run: Run) -> Iterator[SemanticEvent]:
    chain, series = run.chain(), run.series("module.output_batch_spread")
    if chain is None or not series:
        return
    names = [name for name in chain.modules if name in series.position]
    if len(names) < 2:
        return
    start = series.values[:, series.position[names[0]]]
    for name in names[1:]:
        own = series.values[:, series.position[name]]
        seen = np.flatnonzero(np.isfinite(own) & np.isfinite(start) & (start > 0))
        ratio = own[seen] / start[seen]
        for first, end in stretches(ratio < BOUND, at_least=min(ROWS, max(1, seen.size))):
            smallest = median(ratio[first : end + 1])
            yield saw(
                "activation_regime_shift",
                "vanishing",
                (series.steps[seen][first], series.steps[seen][end]),
                f"at {named(name)} the samples differ by {smallest:.1g} of what they do at '{names[0]}'",
                layer=name,
                findings=("signal_dies_over_depth", "initial_weights_small", "a_layer_starts_small"),
                confidence=below(smallest, BOUND),
                ratio=smallest,
            )
