"""Replicas that should be equal are not.

## What it detects
A parameter or buffer whose checksum differs between ranks.

## Why it matters
Each rank then trains a model of its own on a gradient that fits none of them.

## Evidence
Fact `ranks.diverged`.

## When it is wrong
Statistics of batch norms that are not synchronized differ by design.

## References
PyTorch documentation, DistributedDataParallel, "Internal design".
"""

from __future__ import annotations

from collections.abc import Iterator

from neuraldbg.detectors._event import saw
from neuraldbg.measures.ranks import difference
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.records import SemanticEvent

NEEDS: tuple[str, ...] = ()


def detect(run: Run) -> Iterator[SemanticEvent]:
    for fact in run.trace.facts("ranks.diverged")[:1]:
        name = str(fact.data.get("parameter", ""))
        yield saw(
            "wiring_fault",
            "faulty",
            (fact.step, max(fact.step, run.trace.last_step)),
            difference(fact),
            layer=owner_of(name),
            parameter=name,
            findings=("replicas_differ",),
            confidence=0.98,
        )
