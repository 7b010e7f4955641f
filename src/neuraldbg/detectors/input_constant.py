"""Inputs do not differ between samples.

## What it detects
An input that is the same for every sample of a batch, or of which more than nine tenths of the features are; or
more than 97 % of whose values are zero.

## Why it matters
What does not vary cannot tell samples apart: the best that is left is the mean of the targets.

## Evidence
`input.batch_spread`, `input.constant_features`, `input.zero_share`, against `input.std`.

## When it is wrong
One-hot and other sparse inputs are mostly zero by design; a position or time input is the same for all samples beside
others that are not.

## References
None: it follows from the definition of variance.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.inputs import model_inputs
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import INPUT
from neuraldbg.records import SemanticEvent

NEEDS = ("input.batch_spread", "input.constant_features", "input.zero_share", "input.std")

#: Share of features; share of values; spread across samples over the spread of all values.
FEATURES, ZEROS, RELATIVE = 0.9, 0.97, 1e-3


def detect(run: Run) -> Iterator[SemanticEvent]:
    spreads = run.series("input.batch_spread").of_kind("input")
    constant, zeros, all_values = (
        model_inputs(run, name) for name in ("input.constant_features", "input.zero_share", "input.std")
    )
    for name in spreads.names:
        steps, spread = spreads.column(name)
        if spread.size < 3:
            continue
        typical = float(np.median(spread))
        share = float(np.median(constant[name][1])) if name in constant and constant[name][1].size else 0.0
        whole = float(np.median(all_values[name][1])) if name in all_values and all_values[name][1].size else 0.0
        empty = float(np.median(zeros[name][1])) if name in zeros and zeros[name][1].size else 0.0
        still = typical == 0 or share > FEATURES or (whole > 0 and typical < RELATIVE * whole)
        if still or empty > ZEROS:
            findings: tuple[str, ...] = ("inputs_do_not_vary",) if still else ()
            findings += ("inputs_nearly_all_zero",) if empty > ZEROS else ()
            words = (
                f"hardly varies between samples: {100 * share:.0f} % of its features "
                f"are equal in all of them, {100 * empty:.0f} % of its values are zero"
            )
            yield saw(
                "data_anomaly",
                "constant",
                (steps[0], steps[-1]),
                f"{INPUT} {name} {words}",
                subject=f"{INPUT} {name}",
                findings=findings,
                confidence=1.0 if typical == 0 else 0.7,
                share=max(share, float(typical == 0)),
                zeros=empty,
                spread=typical,
            )
