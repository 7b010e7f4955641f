"""Gradients are not cleared between steps.

## What it detects
Backward passes that follow a step and find the gradients of before still there, in more than four fifths of the steps;
or in some steps and not in others.

## Why it matters
Each step then applies the sum of all gradients so far: it is a momentum of one, and it grows.

## Evidence
`gradient.left_norm` against `gradient.norm` of the same step.

## When it is wrong
Accumulation over several backward passes clears once per step; that is seen and is no fault.

## References
PyTorch documentation, Optimizer.zero_grad.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import OPTIMIZER
from neuraldbg.records import SemanticEvent

NEEDS = ("gradient.left_norm", "gradient.norm")

#: Share of the steps.
ALWAYS, SOMETIMES = 0.8, 0.2
#: Share of the gradient norm of the step that counts as left over, and not as a rounded zero.
LEFT = 1e-3


def detect(run: Run) -> Iterator[SemanticEvent]:
    steps, left = run.of_optimizer("gradient.left_norm")
    at_step = dict(zip(*(part.tolist() for part in run.of_optimizer("gradient.norm"))))
    if left.size < 3 or run.optimizer_steps < 3:
        return
    own = np.array([at_step.get(step, 0.0) for step in steps.tolist()])
    # A gradient that is exactly zero everywhere leaves nothing to clear; one that is not finite is never rounded away.
    found = ((left > LEFT * own) & (own > 0)) | np.isinf(left)
    share = float(np.mean(found))
    if share > ALWAYS:
        sentence = (
            f"gradients are not cleared: each backward finds those of the steps before (norm {np.median(left):.3g})"
        )
        yield _event(int(steps[0]), int(steps[-1]), sentence, "gradients_not_cleared", share)
    elif share > SOMETIMES and left.size >= 6 and run.optimizer_steps >= 6:
        sentence = f"after {100 * share:.0f} % of the steps the old gradients were still there"
        yield _event(int(steps[0]), int(steps[-1]), sentence, "gradients_sometimes_cleared", share)


def _event(first: int, last: int, sentence: str, finding: str, share: float) -> SemanticEvent:
    return saw(
        "wiring_fault",
        "faulty",
        (max(0, first), last),
        sentence,
        subject=OPTIMIZER,
        findings=(finding,),
        confidence=0.5 + 0.5 * share,
        share=share,
    )
