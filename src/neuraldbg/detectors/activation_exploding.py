"""The values of a module grow out of all proportion, over depth or over time.

## What it detects
Over depth: in one forward the spread of a module's output is more than fifty times that of the first module of the
path, with at least four modules that each add to it. Over time: a module's spread exceeds ten times its own at the
start, and ten times the largest that any module or input had there, in at least three observed steps.

## Why it matters
Large values saturate what comes after, make logits extreme and the loss huge, and end in Inf.

## Evidence
`module.output_std` over the longest path of the data flow, and against the module's own first steps.

## When it is wrong
Logits of a classifier that learns grow severalfold; a residual stream grows with depth by design. Both stay below the
bounds in ordinary models.

## References
Glorot and Bengio 2010; He, Zhang, Ren and Sun 2015, Delving deep into rectifiers; Hanin and Rolnick 2018.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, named, saw, times
from neuraldbg.measures.depth import early
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import median, stretches
from neuraldbg.measures.wiring import output_layers
from neuraldbg.records import SemanticEvent

NEEDS = ("module.output_std", "input.std")

#: Spread of a module's output over that of the first module.
OVER_DEPTH = 50.0
#: Spread over the module's own at the start; a prediction moves from near zero to the spread of its targets, so
#: that the
#: output layers get a wider bound.
OVER_TIME = 10.0
OVER_TIME_AT_OUTPUT = 100.0
#: Modules that each add at least 10 %.
GROWING = 4
ROWS = 3


def detect(run: Run) -> Iterator[SemanticEvent]:
    deep = set()
    for event in _over_depth(run):
        deep.add(event.layer)
        yield event
    for event in _over_time(run):
        if event.layer not in deep:
            yield event


def _over_depth(run: Run) -> Iterator[SemanticEvent]:
    chain, series = run.chain("first"), run.series("module.output_std")
    if chain is None or not series:
        return
    names = [name for name in chain.modules if name in series.position]
    spreads = [spread for spread in chain.spreads if spread > 0 and np.isfinite(spread)]
    if len(names) < GROWING or sum(b > 1.1 * a for a, b in itertools.pairwise(spreads)) < GROWING:
        return
    first_module = series.values[:, series.position[names[0]]]
    for name in names[1:]:
        own = series.values[:, series.position[name]]
        seen = np.flatnonzero(np.isfinite(own) & (first_module > 0) & np.isfinite(first_module))
        if not seen.size:
            continue
        ratio = own[seen] / first_module[seen]
        # What is there from the first steps on; what comes later is growth over time.
        for start, end in stretches(ratio > OVER_DEPTH, at_least=min(ROWS, seen.size))[:1]:
            if start > 3:
                continue
            largest = median(ratio[start : end + 1])
            yield saw(
                "activation_regime_shift",
                "exploding",
                (series.steps[seen][start], series.steps[seen][end]),
                f"the output of {named(name)} has {times(largest)} the spread of '{names[0]}'",
                layer=name,
                findings=("signal_explodes_over_depth", "outputs_large_at_start"),
                confidence=beyond(largest, OVER_DEPTH),
                ratio=largest,
            )


def _over_time(run: Run) -> Iterator[SemanticEvent]:
    series, outputs = run.series("module.output_std"), output_layers(run)
    at_start = [*early(run.trace, "module.output_std").values(), *early(run.trace, "input.std").values()]
    largest_at_start = max((spread for spread in at_start if np.isfinite(spread)), default=0.0)
    for index in np.flatnonzero((series.values > OVER_TIME * largest_at_start).any(axis=0)).tolist():
        name, steps, spread = series.names[index], series.steps, series.values[:, index]
        seen = ~np.isnan(spread)
        steps, spread = steps[seen], spread[seen]
        start = spread[np.isfinite(spread)][:5]
        if start.size < 3 or median(start) <= 1e-12:
            continue
        bound = OVER_TIME_AT_OUTPUT if name in outputs or name == "" else OVER_TIME
        ratio = spread / median(start)
        # What grows to the size that its neighbours have had from the start wakes up, and does not explode.
        for first, end in stretches((ratio > bound) & (spread > OVER_TIME * largest_at_start), at_least=ROWS):
            largest = float(ratio[first : end + 1].max())
            yield saw(
                "activation_regime_shift",
                "exploding",
                (steps[first], steps[end]),
                f"the output of {named(name)} grew to {times(largest)} its spread at the start",
                layer=name,
                findings=("exponential_grows", "weights_grow", "explosion_precedes"),
                confidence=beyond(largest, bound),
                ratio=largest,
            )
