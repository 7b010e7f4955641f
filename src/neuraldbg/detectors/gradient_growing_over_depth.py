"""The gradient grows from the loss back towards the input.

## What it detects
Over the longest path of the data flow the gradient at a module's output is more than a hundred times the one at the
module next to the loss, with at least four modules that each add to it.

## Why it matters
The first layers then take steps a hundred times too long for them while the last ones hardly move; in a deeper or
longer model the product leaves the range of numbers. It is there at step 0 and has nothing to do with the learning
rate.

## Evidence
`module.output_gradient_norm`; `log_gain` of each module, which add up to the whole growth.

## When it is wrong
A wide first layer behind a narrow head has a larger norm by its size; four modules that each add rule most of it out.

## References
Pascanu, Mikolov and Bengio 2013, On the difficulty of training recurrent neural networks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, named, saw, times
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import median, running_median, stretches
from neuraldbg.records import SemanticEvent

NEEDS = ("module.output_gradient_norm",)

#: Ratio of norms: two powers of ten.
BOUND = 100.0
#: Modules whose log-gain exceeds 0.05 (12 %), so that one wide layer is no growth over depth.
GROWING = 4


def detect(run: Run) -> Iterator[SemanticEvent]:
    chain = run.chain()
    series = run.series("module.output_gradient_norm")
    if chain is None or not series or sum(link.log_gain > 0.05 for link in chain.links) < GROWING:
        return
    names = [name for name in chain.modules if name in series.position]
    if len(names) < GROWING:
        return
    last, gains = series.values[:, series.position[names[-1]]], chain.shares()
    for name in names[:-1]:
        own = series.values[:, series.position[name]]
        # Once the last one has left the range of numbers as well there is no ratio.
        seen = np.flatnonzero(~np.isnan(own) & np.isfinite(last) & (last > 1e-12))
        if not seen.size:
            continue
        steps, ratio = series.steps[seen], running_median(own[seen] / last[seen])
        for first, end in stretches(ratio > BOUND, at_least=min(3, seen.size)):
            largest = median(ratio[first : end + 1])
            yield saw(
                "gradient_health_transition",
                "exploding",
                (steps[first], steps[end]),
                f"at {named(name)} the gradient is {times(largest)} what it is at {named(names[-1])}",
                layer=name,
                findings=("gradient_explodes_over_depth",),
                confidence=beyond(largest, BOUND),
                ratio=largest,
                log_gain=gains.get(name),
            )
