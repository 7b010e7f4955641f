"""A module that told samples apart gives the same for all of them.

## What it detects
The spread across samples at a module's output falls below a thousandth of what it was in the first steps, and the
model's input varies as before. Also the prediction: the spread between samples is below 3 % of the targets' spread
in the last third of the run.

## Why it matters
From there on the model answers with a constant, the loss is that of a constant predictor, and the gradient says nothing
about the single sample.

## Evidence
`module.output_batch_spread`, `input.batch_spread`, `prediction.batch_spread`, `target.std`.

## When it is wrong
A gate that closes for good, a branch that a model learns not to need.

## References
Jing, Vincent, LeCun and Tian 2022, Understanding dimensional collapse; Ioffe and Szegedy 2015 (small batches).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import below, named, saw
from neuraldbg.measures.inputs import model_inputs
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import median, stretches
from neuraldbg.records import SemanticEvent

NEEDS = ("module.output_batch_spread", "prediction.batch_spread", "target.std", "input.batch_spread")

#: Share of the module's own spread in its first five observed steps.
BOUND = 1e-3
#: Share of the targets' spread.
PREDICTION_BOUND = 0.03
ROWS = 5


def detect(run: Run) -> Iterator[SemanticEvent]:
    series = run.series("module.output_batch_spread")
    if not _inputs_vary(run):
        return
    for index, name in enumerate(series.names):
        seen = np.flatnonzero(np.isfinite(series.values[:, index]))
        spread = series.values[seen, index]
        if spread.size < 2 * ROWS or median(spread[:ROWS]) <= 1e-9:
            continue
        ratio = spread / median(spread[:ROWS])
        for first, end in stretches(ratio < BOUND, at_least=ROWS):
            smallest = median(ratio[first : end + 1])
            yield saw(
                "activation_regime_shift",
                "collapsed",
                (series.steps[seen][first], series.steps[seen][end]),
                (
                    f"the output of {named(name)} is the same for every sample "
                    f"(it varied {1 / max(smallest, 1e-30):.2g} times as much)"
                ),
                layer=name,
                findings=("outputs_collapse",),
                confidence=below(smallest, BOUND),
                ratio=smallest,
            )
    yield from _prediction(run)


def _inputs_vary(run: Run) -> bool:
    """Whether some input differs between samples late in the run as it did early; True where none was measured."""
    known = [spread for _, spread in model_inputs(run, "input.batch_spread").values() if spread.size >= 2 * ROWS]
    return not known or any(np.median(s[-ROWS:]) > BOUND * np.median(s[:ROWS]) for s in known)


def _prediction(run: Run) -> Iterator[SemanticEvent]:
    curve = run.loss
    if curve is None:
        return
    steps, spread = run.series("prediction.batch_spread").column(curve.place.name)
    if spread.size < 9:
        return
    _, target = run.series("target.std").column(curve.place.name)
    target = target[np.isfinite(target)]
    classes = "binary" in curve.kind or curve.kind == "cross_entropy" or not target.size
    reference = 1.0 if classes else max(median(target), 1e-12)
    flat = spread < PREDICTION_BOUND * reference
    late = [part for part in stretches(flat, at_least=ROWS) if part[1] >= 0.9 * spread.size - 1]
    for first, end in late[-1:]:
        typical = median(spread[first : end + 1])
        heads = [str(term["producer"]) for term in curve.terms if term.get("producer") is not None]
        yield saw(
            "activation_regime_shift",
            "collapsed",
            (steps[first], steps[end]),
            f"the prediction hardly differs between samples (spread {typical:.2g}, the targets' is {reference:.2g})",
            layer=heads[0] if heads else "",
            findings=("predictions_do_not_vary",),
            confidence=below(typical, PREDICTION_BOUND * reference),
            spread=typical,
        )
