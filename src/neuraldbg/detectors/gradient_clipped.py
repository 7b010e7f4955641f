"""The gradient sits at the clipping bound.

## What it detects
In most steps the norm at the step is below the norm that the backward left, and it is the same number in step after
step: the clipping bound.

## Why it matters
Clipping is meant for the rare outlier. Where it acts all the time, the length of a step is set by the bound and no
longer by the gradient: the learning rate then means something else.

## Evidence
`gradient.norm_after_backward` against `gradient.norm`.

## When it is wrong
Many language models are trained well with clipping in most steps; by itself this is no failure.

## References
Pascanu, Mikolov and Bengio 2013; torch.nn.utils.clip_grad_norm_.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import GRADIENT
from neuraldbg.records import SemanticEvent

NEEDS = ("gradient.norm", "gradient.norm_after_backward")

#: Share of steps that are clipped.
SHARE = 0.5
#: A clipped norm lies at least 2 % below the one before: float32 norms agree to 1e-6.
CUT = 0.98


def detect(run: Run) -> Iterator[SemanticEvent]:
    steps, at_step = run.of_optimizer("gradient.norm")
    after = dict(zip(*(part.tolist() for part in run.trace.scalar("gradient.norm_after_backward", "gradients"))))
    if len(run.optimizers) > 1:
        return
    left = np.array([after.get(step, np.nan) for step in steps.tolist()])
    both = np.isfinite(left) & np.isfinite(at_step) & (left > 0)
    if both.sum() < 8:
        return
    cut = both & (at_step < CUT * left)
    share = float(cut.sum() / both.sum())
    if share <= SHARE:
        return
    bound = float(np.median(at_step[cut]))
    constant = float(np.mean(np.abs(at_step[cut] - bound) < 0.02 * bound)) if bound > 0 else 0.0
    if constant < 0.8:
        return
    rows = np.flatnonzero(cut)
    yield saw(
        "gradient_health_transition",
        "saturated",
        (steps[rows[0]], steps[rows[-1]]),
        f"the gradient is cut to {bound:.3g} in {100 * share:.0f} % of the steps (it was {np.median(left[cut]):.3g})",
        subject=GRADIENT,
        findings=("gradients_clipped",),
        confidence=share,
        bound=bound,
        share=share,
    )
