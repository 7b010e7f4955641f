"""The loss fell and then stopped falling.

## What it detects
The loss fell by at least three times its noise, and over the last two fifths of the run it changes by less than its
noise and less than 2 % of what it fell, while it is not near zero. Where the loss of the best constant prediction
is known and the loss rests there, the sentence says so.

## Why it matters
A run that rests at what a constant prediction reaches has learned the mean of the targets and nothing of the inputs.

## Evidence
`loss.value`; `loss.term_constant`, `target.entropy`, `target.std`, fact `target.histogram` (the constant predictor).

## When it is wrong
A model that has learned all there is to learn rests too: label noise and entropy of the data set a floor.

## References
Yoshida and Okada 2019, Data-dependence of plateau phenomenon in learning.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import LOSS
from neuraldbg.records import SemanticEvent

NEEDS = ("loss.value", "loss.term_constant", "target.entropy", "target.std")

#: Losses below which a curve has no shape.
FEW = 30
#: Share of the whole fall that the last two fifths may still bring.
SHARE = 0.02
#: A loss within these of the constant predictor's rests there.
NEAR = (0.9, 1.15)


def detect(run: Run) -> Iterator[SemanticEvent]:
    curve = run.loss
    if curve is None or curve.count < FEW or run.adversarial or run.bad_step is not None:
        return
    smooth = curve.smooth()
    fell = curve.first - curve.end
    if fell <= 3 * curve.noise or (curve.first > 0 and curve.end < 0.05 * curve.first):
        return
    late = smooth[int(0.6 * smooth.size) :]
    third = max(3, late.size // 3)
    still = float(np.median(late[:third]) - np.median(late[-third:]))
    if abs(still) > max(SHARE * fell, curve.noise / np.sqrt(third)):
        return
    rest = curve.end + max(0.05 * fell, curve.noise)
    first = int(np.flatnonzero(smooth <= rest)[0]) if (smooth <= rest).any() else int(0.6 * smooth.size)
    finite = np.flatnonzero(np.isfinite(curve.values))
    constant = curve.constant
    at_constant = constant is not None and constant > 1e-9 and NEAR[0] < curve.end / constant < NEAR[1]
    what = f", what a constant guess gives ({constant:.3g})" if at_constant else ""
    yield saw(
        "optimizer_instability",
        "plateau",
        (max(1, int(curve.steps[finite[first]])), curve.steps[-1]),
        f"the loss stays at {curve.end:.3g}{what}",
        subject=LOSS,
        findings=("loss_at_constant_predictor",) if at_constant else ("loss_fell_then_stopped_early",),
        confidence=0.9 if at_constant else 0.6,
        end=curve.end,
        constant=constant,
        fell=fell,
    )
