"""Gradients are clipped while they still carry the loss scale.

## What it detects
The gradients that the scaler's step receives all have the same norm, far below what the backward left times the scale.

## Why it matters
Clipped to 1 and then divided by a scale of 65536, what is left of the gradient is a hundred-thousandth: the model
stands still.

## Evidence
`scaler.norm_in_step`, `scaler.scale_in_step`, `gradient.norm_after_backward`.

## When it is wrong
Clipping after `unscale_` is right; its norms do not carry the scale.

## References
PyTorch documentation, Automatic mixed precision examples, "Gradient clipping".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import GRADIENT
from neuraldbg.records import SemanticEvent

NEEDS = ("scaler.norm_in_step", "scaler.scale_in_step", "gradient.norm_after_backward")

#: Share of steps whose norm lies within 2 % of the median; share of the scaled norm that may be left.
CONSTANT, LEFT = 0.6, 0.2


def detect(run: Run) -> Iterator[SemanticEvent]:
    steps, norms = run.trace.scalar("scaler.norm_in_step", "scaler")
    _, scales = run.trace.scalar("scaler.scale_in_step", "scaler")
    _, after = run.trace.scalar("gradient.norm_after_backward", "gradients")
    kept, after = norms[np.isfinite(norms)], after[np.isfinite(after)]
    if kept.size < 5 or not scales.size or not after.size:
        return
    scale, middle = float(np.median(scales)), float(np.median(kept))
    constant = float(np.mean(np.abs(kept - middle) < 0.02 * max(middle, 1e-30)))
    if scale > 1 and constant > CONSTANT and middle < LEFT * float(np.median(after)) * scale:
        yield saw(
            "precision_anomaly",
            "clipped_scaled",
            (steps[0], steps[-1]),
            (
                f"gradients are clipped to {middle:.3g} while they carry the "
                f"loss scale {scale:.3g}: what is left is {middle / scale:.1g}"
            ),
            subject=GRADIENT,
            findings=("scaled_gradients_clipped",),
            confidence=0.5 + 0.5 * constant,
            norm=middle,
            scale=scale,
        )
