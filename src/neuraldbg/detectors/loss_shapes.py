"""Prediction and target have shapes that stretch against each other.

## What it detects
A residual with more elements than the prediction: (N, 1) against (N,) gives (N, N), every prediction against every
target.

## Why it matters
The loss then is least when every prediction is the mean of the targets; that is what the model learns.

## Evidence
Fact `loss.structure`: shapes of prediction and residual, with the expand in between.

## When it is wrong
A loss over all pairs (contrastive, ranking) is meant so; it subtracts predictions from each other, not from targets.

## References
PyTorch documentation, Broadcasting semantics; the warning of torch.nn.functional.mse_loss.
"""

from __future__ import annotations

from collections.abc import Iterator

from neuraldbg.detectors._event import saw
from neuraldbg.measures.loss_structure import stretched
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import LOSS
from neuraldbg.measures.wiring import source_of, terms_of
from neuraldbg.records import SemanticEvent

NEEDS: tuple[str, ...] = ()


def detect(run: Run) -> Iterator[SemanticEvent]:
    for stream, term in terms_of(run):
        shapes = stretched(term)
        if shapes is not None:
            yield saw(
                "wiring_fault",
                "faulty",
                (0, max(0, run.trace.last_step)),
                f"the prediction has shape {shapes[0]} and the difference to the target {shapes[1]}: they broadcast",
                subject=LOSS,
                findings=("shapes_broadcast_in_loss",),
                confidence=0.98,
                source=source_of(run, stream),
            )
