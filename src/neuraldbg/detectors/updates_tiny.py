"""Steps hardly move the weights.

## What it detects
The typical step moves the weights by less than 2e-4 of their norm, from the start on or since a certain step; or leaves
them exactly where they are although there is a gradient.

## Why it matters
The direction may be right; at that length thousands of steps more are needed.

## Evidence
`update.ratio`, `update.norm`, `gradient.norm`.

## When it is wrong
Fine-tuning and the end of a schedule are meant to take small steps; at a minimum the gradient is small and so is the
step.

## References
Karpathy 2019, A recipe for training neural networks; Smith 2018.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import below, saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import running_median, stretches
from neuraldbg.measures.subjects import UPDATES
from neuraldbg.records import SemanticEvent

NEEDS = ("update.ratio", "update.norm", "gradient.norm")

#: Norm of the update over norm of the weights: a tenth of the least that mid-training steps have (1e-4 to 1e-2), with a
#: factor of two for the norm of layers that hardly train.
BOUND = 2e-5
#: From the start on a higher bound holds: nothing has been learned that could be kept.
BOUND_AT_START = 2e-4
ROWS = 5


def detect(run: Run) -> Iterator[SemanticEvent]:
    steps, ratio = run.of_optimizer("update.ratio")
    if ratio.size < ROWS:
        return
    smooth = running_median(ratio, 5)
    opening = float(np.median(ratio[: max(ROWS, ratio.size // 4)]))
    bound = BOUND_AT_START if opening < BOUND_AT_START else BOUND
    for first, end in stretches(smooth < bound, at_least=ROWS):
        typical = float(np.median(ratio[first : end + 1]))
        exact = typical == 0
        words = (
            "steps leave the weights exactly where they are"
            if exact
            else f"a step moves the weights by {typical:.1g} of their norm"
        )
        yield saw(
            "optimizer_instability",
            "not_learning",
            (steps[first], steps[end]),
            f"{words} (healthy: 1e-4 to 1e-2)",
            subject=UPDATES,
            findings=("updates_zero", "gradients_zero", "nothing_trains")
            if exact
            else ("updates_tiny", "updates_small", "predicted_decrease_is_tiny", "gradients_parallel"),
            confidence=below(typical, bound),
            ratio=typical,
        )
