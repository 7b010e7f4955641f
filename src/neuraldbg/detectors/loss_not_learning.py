"""The loss hardly moves from where it began.

## What it detects
From the first tenth of the run to the last the loss changes by less than 2 % and less than its noise; or it falls
steadily and has covered less than a tenth of the way.

## Why it matters
Nothing is learned from the first step on: the fault is there from the start, in the wiring, the data, or the length of
the steps, and not something that happened on the way.

## Evidence
`loss.value`; where it is known, the loss of the best constant prediction.

## When it is wrong
Losses trained against each other rest in balance; they are left out. A fine-tuned model may start near its best.

## References
Smith 2018, A disciplined approach to neural network hyper-parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import LOSS
from neuraldbg.records import SemanticEvent

NEEDS = ("loss.value", "loss.term_constant")

FEW = 20


def detect(run: Run) -> Iterator[SemanticEvent]:
    curve = run.loss
    if curve is None or curve.count < FEW or run.adversarial or run.bad_step is not None:
        return
    change = curve.start - curve.end
    level = max(abs(curve.start), 1e-12)
    quiet = max(0.02 * level, curve.noise / np.sqrt(curve.window))
    constant = curve.constant
    known = constant is not None and constant > 1e-9
    beside = f", where a constant guess gives {constant:.3g}" if known else ""
    steps = (int(curve.steps[min(1, curve.steps.size - 1)]), int(curve.steps[-1]))
    if abs(change) <= quiet:
        yield saw(
            "optimizer_instability",
            "not_learning",
            steps,
            f"the loss stays at {curve.end:.3g} from the start{beside}",
            subject=LOSS,
            findings=("loss_never_moved", "loss_at_constant_predictor", "loss_above_constant_predictor"),
            confidence=0.95 if abs(change) <= 0.5 * quiet else 0.7,
            start=curve.start,
            end=curve.end,
            constant=constant,
        )
        return
    parts = [float(np.median(part)) for part in np.array_split(curve.finite, 5)]
    falls = [a - b for a, b in itertools.pairwise(parts)]
    if min(falls) > 0 and 0 < change < 0.1 * level:
        yield saw(
            "optimizer_instability",
            "not_learning",
            steps,
            f"the loss falls steadily and hardly, from {curve.start:.3g} to {curve.end:.3g}{beside}",
            subject=LOSS,
            findings=("loss_still_falling_slowly",),
            confidence=0.7,
            start=curve.start,
            end=curve.end,
            constant=constant,
        )
