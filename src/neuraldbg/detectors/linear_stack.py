"""Linear layers feed each other with nothing between them.

## What it detects
Linear or convolution layers whose output another one reads without any nonlinear operation on the way.

## Why it matters
Two linear maps in a row are one linear map: the stack can fit no more than a single layer, at the cost of two.

## Evidence
Fact `model.flow`: the operations between the outputs of modules.

## When it is wrong
Low-rank factors, depthwise-separable convolutions, adapters and the projections of attention are linear pairs on
purpose.

## References
Minsky and Papert 1969; Goodfellow, Bengio and Courville 2016, section 6.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from neuraldbg.detectors._event import named, saw
from neuraldbg.measures.linearity import linear_sources, linear_throughout
from neuraldbg.measures.run import Run
from neuraldbg.records import SemanticEvent

NEEDS: tuple[str, ...] = ()


def detect(run: Run) -> Iterator[SemanticEvent]:
    pairs = [(source, target) for source, target in linear_sources(run) if source is not None]
    if not pairs:
        return
    source, target = pairs[0]
    nonlinear = not linear_throughout(run)
    findings = ("linear_layers_in_a_row",) + (() if nonlinear else ("model_is_linear_throughout",))
    throughout = "" if nonlinear else "; the whole model is linear"
    yield saw(
        "wiring_fault",
        "faulty",
        (0, max(0, run.trace.last_step)),
        (
            f"{named(source)} feeds {named(target)} with no nonlinearity "
            f"between them ({len(pairs)} such pair(s)){throughout}"
        ),
        layer=source,
        findings=findings,
        confidence=0.6 if nonlinear else 0.9,
        pairs=len(pairs),
    )
