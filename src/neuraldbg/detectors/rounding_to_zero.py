"""Gradients or updates are rounded to nothing in 16 bit.

## What it detects
16-bit weights of which, in the typical matrix, more than two fifths of the entries with a gradient do not move in a
step; gradients in float16 of which more than half of the entries are exactly zero.

## Why it matters
A float16 number has 11 significant bits, a bfloat16 number 8: an update below a two-hundredth of a bfloat16 weight is
rounded away, step after step.

## Evidence
`parameter.unchanged_share`, `parameter.gradient_zero_share`, `gradient.zero_share`, `module.half_precision`.

## When it is wrong
ReLU models and sparse inputs have many exact zeros in float32 too; the bound lies above what those give.

## References
Micikevicius et al. 2018, Mixed precision training, section 3; Zamirai et al. 2020, Revisiting bfloat16 training.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import GRADIENT, UPDATES
from neuraldbg.records import SemanticEvent

NEEDS = ("parameter.unchanged_share", "parameter.gradient_zero_share", "gradient.zero_share", "module.half_precision")

#: Shares of entries.
UNCHANGED, ZERO, ZERO_OF_MODEL = 0.4, 0.5, 0.6


def detect(run: Run) -> Iterator[SemanticEvent]:
    series = run.series("parameter.unchanged_share")
    matrices = [i for i, place in enumerate(series.places) if len(place.details.get("shape", ())) >= 2]
    if series and matrices:
        share = float(np.median(np.nanmedian(series.values[:, matrices], axis=0)))
        if share > UNCHANGED:
            sentence = (
                f"{100 * share:.0f} % of the weights that have a gradient do "
                "not move: the update is below the spacing of their type"
            )
            yield _event(series.steps, sentence, UPDATES, "updates_lost_to_rounding", share, UNCHANGED)
    zeros, half = run.series("parameter.gradient_zero_share"), run.series("module.half_precision")
    float16 = bool(half) and bool(np.nanmax(half.values) == 16.0)
    if zeros:
        share, bound, steps = float(np.nanmedian(zeros.values)), ZERO, zeros.steps
    else:
        steps, column = run.of_optimizer("gradient.zero_share")
        share, bound = float(np.median(column)) if column.size and float16 else 0.0, ZERO_OF_MODEL
    if share > bound:
        yield _event(
            steps,
            f"{100 * share:.0f} % of the gradient entries are exactly zero in 16 bit",
            GRADIENT,
            "gradients_flush_to_zero",
            share,
            bound,
        )


def _event(steps: np.ndarray, sentence: str, subject: str, finding: str, share: float, bound: float) -> SemanticEvent:
    return saw(
        "precision_anomaly",
        "underflow",
        (int(steps[0]), int(steps[-1])),
        sentence,
        subject=subject,
        findings=(finding,),
        confidence=0.5 + 0.5 * (share - bound) / (1 - bound),
        share=share,
    )
