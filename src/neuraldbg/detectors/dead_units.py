"""Units of a ReLU layer are zero on every input.

## What it detects
More than 60 % of the units after a ReLU are zero for the whole batch, step after step.

## Why it matters
Where a ReLU is off its slope is zero: a unit that is off for every sample gets no gradient and cannot come back.

## Evidence
`activation.dead_units` of ReLU and threshold operations, functional ones too: the share of units without a single
positive value in the batch.

## When it is wrong
Many zeros are no dead units: a unit that is on for a tenth of the samples is 90 % zeros and learns well. With a
batch of a few samples a sparse unit can look dead by chance, which is why a stretch of steps is asked for.

## References
Lu, Shin, Su and Karniadakis 2019, Dying ReLU and initialization; Maas, Hannun and Ng 2013 (leaky ReLU).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import layer_of, named, saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import stretches
from neuraldbg.records import SemanticEvent

NEEDS = ("activation.dead_units",)

#: Share of a layer's units. At initialization half of the units are on for a given sample and hardly one is off for all
#: of a batch of 16, so that most units off is far from what chance gives.
BOUND = 0.6
#: Observed steps in a row.
ROWS = 3


def detect(run: Run) -> Iterator[SemanticEvent]:
    series = run.series("activation.dead_units")
    for place in series.places:
        if place.details.get("operation") not in ("Relu", "Threshold"):
            continue
        steps, share = series.column(place.name)
        layer = layer_of(place)
        for first, end in stretches(share > BOUND, at_least=min(ROWS, max(1, share.size))):
            part = share[first : end + 1]
            part = part[np.isfinite(part)]
            if not part.size:
                continue
            typical = float(np.median(part))
            started = first == 0
            before = "" if started else f" ({100 * float(share[0]):.0f} % were at the start)"
            yield saw(
                "activation_regime_shift",
                "dead",
                (steps[first], steps[end]),
                f"{100 * typical:.0f} % of the units of {named(layer)} are zero on every input{before}",
                layer=layer,
                findings=("units_dead_from_start",) if started else ("units_die_later",),
                confidence=0.5 + 0.5 * (typical - BOUND) / (1 - BOUND),
                share=typical,
                share_at_start=float(share[0]),
            )
