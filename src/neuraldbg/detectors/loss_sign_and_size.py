"""The loss enters with a minus sign, or as a sum.

## What it detects
A loss that is bounded below and enters with a minus sign, alone; a main term that is summed over eight and more
elements or multiplied by ten and more; several backward passes per step whose losses are not divided by their
number.

## Why it matters
The first is maximized. The others make every gradient as many times as large, which is a learning rate as many times as
large for SGD.

## Evidence
Fact `loss.structure` (sign, factor, reduction); `loss.elements`; counts of backward passes and steps.

## When it is wrong
Sums over the elements of one sample (the terms of a VAE) are usual, with a rate to match; an adaptive optimizer
does not mind the size.

## References
PyTorch documentation, loss functions, `reduction`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, saw
from neuraldbg.measures.loss_structure import BOUNDED_BELOW
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import LOSS
from neuraldbg.measures.wiring import source_of
from neuraldbg.records import SemanticEvent

NEEDS = ("loss.elements", "gradient.left_norm")

#: Elements, or factor, from which a sum is not of the size of a mean.
SIZE = 8.0
#: Backward passes per step from which undivided losses make a difference.
BACKWARDS = 3.5


def detect(run: Run) -> Iterator[SemanticEvent]:
    curve = run.loss
    if curve is None or not curve.terms:
        return
    stream = curve.place.name
    main = [term for term in curve.terms if term["kind"] in BOUNDED_BELOW]
    adversarial = run.adversarial and len(run.curves) > 1
    if main and all(term["sign"] < 0 for term in main) and not adversarial:
        sentence = f"the loss ({main[0]['operation']}) enters with a minus sign: training maximizes it"
        yield _event(run, stream, sentence, "loss_negated", 0.97)
    _, elements = run.series("loss.elements").column(stream)
    for term in curve.terms:
        count = float(np.median(elements)) if elements.size else float(math.prod(term.get("residual_shape") or [1]))
        factor = float(term.get("factor", 1.0))
        summed = term["reduction"] == "sum"
        size = factor * count if summed else factor
        if size >= SIZE and term["kind"] != "other":
            how = f"summed over {count:.0f} elements" if summed else f"multiplied by {factor:g}"
            sentence = f"the loss is {how}, which makes every gradient {size:.3g} times as large"
            yield _event(run, stream, sentence, "loss_is_summed", beyond(size, SIZE), size)
            break
    per_step = run.backwards / max(1, run.optimizer_steps)
    _, left = run.of_optimizer("gradient.left_norm")
    uncleared = left.size > 3 and float(np.mean(left > 0)) > 0.8
    divided = max(float(term.get("factor", 1.0)) for term in curve.terms) <= 0.6
    single = len(run.curves) == 1 and len(run.optimizers) == 1
    if run.optimizer_steps and per_step >= BACKWARDS and single and not uncleared and not divided:
        sentence = f"{per_step:.0f} backward passes feed each step and their losses are not divided by {per_step:.0f}"
        yield _event(run, stream, sentence, "accumulation_undivided", 0.7, per_step)


def _event(
    run: Run, stream: str, sentence: str, finding: str, confidence: float, size: float | None = None
) -> SemanticEvent:
    return saw(
        "wiring_fault",
        "faulty",
        (0, max(0, run.trace.last_step)),
        sentence,
        subject=LOSS,
        findings=(finding,),
        confidence=confidence,
        source=source_of(run, stream),
        size=size,
    )
