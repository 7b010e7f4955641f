"""Sigmoid, tanh or softmax units sit at their bounds.

## What it detects
More than half of the values after a sigmoid or tanh lie within 0.01 of a bound, or more than 60 % of the rows of an
inner softmax are one-hot (largest entry above 0.99), step after step.

## Why it matters
At the bound the slope is nil: next to no gradient passes, and what lies before the unit stops learning.

## Evidence
`activation.saturated_share`, functional calls too.

## When it is wrong
The output activation of a confident classifier belongs at its bound; it is left out. Gates of a trained recurrent model
and sharp attention are at their bounds with good reason when they got there slowly.

## References
Glorot and Bengio 2010; LeCun, Bottou, Orr and Müller 1998, Efficient backprop, section 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import layer_of, named, saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import stretches
from neuraldbg.measures.wiring import terms_of
from neuraldbg.records import SemanticEvent

NEEDS = ("activation.saturated_share",)

#: Share of values: with pre-activations of unit spread a sigmoid has none and a tanh 1 % there.
BOUND = 0.5
#: Share of rows for a softmax, whose rows are sharp sooner.
SOFTMAX_BOUND = 0.6
ROWS = 3


def detect(run: Run) -> Iterator[SemanticEvent]:
    series = run.series("activation.saturated_share")
    outputs = {term.get("producer") for _, term in terms_of(run) if term.get("chain")}
    for place in series.places:
        operation = str(place.details.get("operation", ""))
        if place.details.get("producer") in outputs or not operation:
            continue
        bound = SOFTMAX_BOUND if operation == "Softmax" else BOUND
        steps, share = series.column(place.name)
        layer = layer_of(place)
        for first, end in stretches((share > bound) & np.isfinite(share), at_least=min(ROWS, max(1, share.size))):
            typical = float(np.median(share[first : end + 1]))
            what = "rows after" if operation == "Softmax" else "units of"
            where = "one-hot" if operation == "Softmax" else f"at the bounds of {operation.lower()}"
            findings = ("units_saturated_from_start",) if first == 0 else ("units_saturate_later",)
            yield saw(
                "activation_regime_shift",
                "saturated",
                (steps[first], steps[end]),
                f"{100 * typical:.0f} % of the {what} {named(layer)} are {where}",
                layer=layer,
                findings=("softmax_one_hot_from_start",) if operation == "Softmax" else findings,
                confidence=0.5 + 0.5 * (typical - bound) / (1 - bound),
                share=typical,
                share_at_start=float(share[0]),
            )
