"""The loss jumps and comes back.

## What it detects
A loss more than three times the running level of the twenty before it, above it by more than eight times the usual step
to step difference, that lasts for less than a tenth of the run.

## Why it matters
One step took the model out of the place where it was learning; the next jump may not come back.

## Evidence
`loss.value`, against its own running median and noise.

## When it is wrong
Batches of very unequal difficulty; a loss near zero, where three times nothing is nothing.

## References
Chowdhery et al. 2022, PaLM, section 5.1 (loss spikes).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, saw, times
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import level_before, stretches
from neuraldbg.measures.subjects import LOSS
from neuraldbg.records import SemanticEvent

NEEDS = ("loss.value",)

#: Times the running level.
BOUND = 3.0
#: Times the noise: the median step to step difference, as a spread.
NOISES = 8.0
#: Share of the first loss below which a level is near zero: three times nothing is nothing.
NOTHING = 0.05


def detect(run: Run) -> Iterator[SemanticEvent]:
    curve = run.loss
    if curve is None or curve.count < 20 or run.adversarial:
        return
    values, steps = curve.values, curve.steps
    level = level_before(values, at_least=8)
    size = np.maximum(np.abs(level), NOTHING * abs(curve.first))
    with np.errstate(invalid="ignore"):
        flags = (values - level > (BOUND - 1) * size) & (values - level > NOISES * curve.noise) & np.isfinite(values)
    longest = max(3, values.size // 10)
    for first, end in stretches(flags):
        back = values[end + 1 : end + 4]
        if end - first >= longest or not back.size or not np.isfinite(back).any():
            continue
        top = float(values[first : end + 1].max())
        yield saw(
            "optimizer_instability",
            "spike",
            (steps[first], steps[end]),
            (
                f"the loss jumps from {level[first]:.3g} to {top:.3g}, "
                f"{times(top / max(float(size[first]), 1e-30))} its level"
            ),
            subject=LOSS,
            findings=("loss_spiked", "outlier_meets_loss_jump"),
            confidence=beyond(top - level[first], float((BOUND - 1) * size[first])),
            before=float(level[first]),
            top=top,
        )
