"""A gradient is NaN or infinite.

## What it detects
Gradients of parameters that are not finite, layer by layer. With a finite loss in the same step the gradient itself is
born bad (the derivative of a root at zero, the hidden branch of a where); else it passes on what the loss had.

## Why it matters
One step with it makes the weights NaN, and nothing brings them back.

## Evidence
Fact `nonfinite.gradient`; `parameter.gradient_norm`, `module.output_gradient_norm`.

## When it is wrong
A loss scaler looks for the largest scale that works: its first steps overflow, are skipped, and do no harm.

## References
PyTorch documentation, Automatic mixed precision, "Gradient scaling".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import named, saw
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.measures.stretches import stretches
from neuraldbg.measures.subjects import GRADIENT
from neuraldbg.records import SemanticEvent

NEEDS = ("parameter.gradient_norm", "module.output_gradient_norm", "gradient.norm")


def detect(run: Run) -> Iterator[SemanticEvent]:
    seen = False
    for quantity in ("module.output_gradient_norm", "parameter.gradient_norm"):
        series = run.series(quantity)
        for index in np.flatnonzero(np.isinf(series.values).any(axis=0)).tolist():
            place = series.places[index]
            bad = np.isinf(series.values[:, index])
            layer = place.name if place.kind == "module" else owner_of(place.name)
            for first, end in stretches(bad):
                seen = True
                yield _event(run, layer, (int(series.steps[first]), int(series.steps[end])))
    facts = run.trace.facts("nonfinite.gradient")
    if facts and not seen:
        step = facts[0].step
        bad_count, of = facts[0].data.get("bad", 0), facts[0].data.get("of", 0)
        yield saw(
            "gradient_health_transition",
            "non_finite",
            (step, step),
            f"{bad_count} of {of} gradients are NaN or infinite",
            subject=GRADIENT,
            findings=_findings(run, step),
            confidence=1.0,
            bad=bad_count,
        )


def _event(run: Run, layer: str, steps: tuple[int, int]) -> SemanticEvent:
    return saw(
        "gradient_health_transition",
        "non_finite",
        steps,
        f"the gradient of {named(layer)} is NaN or infinite",
        layer=layer,
        findings=_findings(run, steps[0]),
        confidence=1.0,
    )


def _findings(run: Run, step: int) -> tuple[str, ...]:
    born_here = run.bad_step is None or run.bad_step > step
    return ("gradient_nonfinite_while_loss_finite",) if born_here else ()
