"""Dropout removes nearly all of the signal.

## What it detects
A dropout in train mode with a probability of three quarters and more.

## Why it matters
What is left is scaled up by 1 / (1 - p): at 0.9 the noise it adds has three times the size of the signal. Often 0.9 was
meant as the share to keep.

## Evidence
The probability of the module, `module.training`; fact `model.functional_dropout`.

## When it is wrong
Very wide layers bear it.

## References
Srivastava et al. 2014, Dropout, section 7.3 (rates of 0.2 to 0.5).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import named, saw
from neuraldbg.measures.run import Run
from neuraldbg.records import SemanticEvent

NEEDS = ("module.training",)

#: Probability of being dropped.
MOST, NEARLY_ALL = 0.75, 0.85


def detect(run: Run) -> Iterator[SemanticEvent]:
    for fact in run.trace.facts("model.functional_dropout"):
        probability = float(fact.data.get("probability") or 0.0)
        if probability >= MOST:
            layer = str(fact.data.get("module") or "")
            where = (fact.step, max(fact.step, run.trace.last_step))
            yield _event(f"a dropout in {named(layer)}", layer, where, probability, fact.data.get("source"))
    training = run.series("module.training")
    for place in run.trace.places:
        probability = float(place.details.get("probability") or 0.0)
        if place.kind != "module" or place.details.get("kind") != "dropout" or probability < MOST:
            continue
        steps, mode = training.column(place.name)
        if mode.size and float(np.mean(mode)) > 0.5:
            yield _event(named(place.name), place.name, (int(steps[0]), int(steps[-1])), probability, None)


def _event(what: str, layer: str, steps: tuple[int, int], probability: float, source: str | None) -> SemanticEvent:
    nearly_all = ("dropout_removes_nearly_all",) if probability >= NEARLY_ALL else ()
    return saw(
        "wiring_fault",
        "faulty",
        steps,
        f"{what} drops {100 * probability:.0f} % of its input (usual: 10 to 50 %)",
        layer=layer,
        findings=("dropout_removes_most", *nearly_all),
        confidence=0.6 + 0.4 * (probability - MOST) / (1 - MOST),
        probability=probability,
        source=source,
    )
