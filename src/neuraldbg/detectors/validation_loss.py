"""The validation loss goes another way than the training loss.

## What it detects
A validation loss that rises from its lowest level by more than 15 % while training falls on; one that is well above the
training loss from the first evaluations on.

## Why it matters
The first is a model that learns its training set by heart. The second is a difference between the two that was there
before anything was learned: other preprocessing, or the wrong mode.

## Evidence
`evaluation.loss` against `loss.value` around the same steps.

## When it is wrong
Dropout and augmentation make the training loss higher than the validation loss; a harder validation set makes a gap by
itself.

## References
Prechelt 1998, Early stopping, but when?
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, saw
from neuraldbg.measures.evaluation import evaluations, training_near
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import VALIDATION
from neuraldbg.records import SemanticEvent

NEEDS = ("evaluation.loss", "loss.value")

#: Share of its lowest level by which the validation loss has to rise.
RISE = 0.15
#: Validation over training loss that is a gap.
GAP = 1.6


def detect(run: Run) -> Iterator[SemanticEvent]:
    found = evaluations(run)
    if found is None or found[0].size < 4:
        return
    steps, values = found
    train = training_near(run, steps)
    low = int(values.argmin())
    tail = max(1, values.size // 6)
    last = float(np.mean(values[-tail:]))
    falls = bool(np.isfinite(train[-1]) and np.isfinite(train[low]) and train[-1] < train[low])
    if (
        last - values[low] > RISE * abs(float(values[low]))
        and falls
        and last > 1.5 * train[-1]
        and low < values.size - 2
    ):
        yield _event(
            (int(steps[low]), int(steps[-1])),
            (
                f"the validation loss rises from {values[low]:.3g} to "
                f"{last:.3g} while the training loss falls to {train[-1]:.3g}"
            ),
            ("validation_rises_while_training_falls", "training_far_below_validation_at_end"),
            beyond(last - float(values[low]), RISE * abs(float(values[low]))),
            lowest=float(values[low]),
            last=last,
        )
    kept = np.isfinite(train) & (np.abs(train) > 1e-12)
    if kept.sum() < 3:
        return
    ratio = values[kept] / np.abs(train[kept])
    opening = float(np.median(ratio[1 : max(3, ratio.size // 2)]))
    if (
        opening > GAP
        and float(np.median(ratio[1:])) > GAP
        and run.loss is not None
        and run.loss.end < 0.7 * run.loss.first
    ):
        yield _event(
            (int(steps[kept][0]), int(steps[-1])),
            f"validation gives {opening:.2g} times the training loss from the first evaluations on",
            ("validation_worse_from_the_start", "validation_never_improves"),
            beyond(opening, GAP),
            ratio=opening,
        )


def _event(
    steps: tuple[int, int], sentence: str, findings: tuple[str, ...], confidence: float, **numbers: float
) -> SemanticEvent:
    return saw(
        "optimizer_instability",
        "diverging",
        steps,
        sentence,
        subject=VALIDATION,
        findings=findings,
        confidence=confidence,
        numbers=numbers,
    )
