"""The loss is NaN or infinite.

## What it detects
A loss that is not finite, for every stream of losses, and since which step.

## Why it matters
Its gradient is not finite either: without a scaler that skips the step, the weights are lost.

## Evidence
`loss.value`; fact `nonfinite.loss` (NaN or Inf, and which operation made it).

## When it is wrong
A loss scaler's first steps overflow on purpose and are skipped; single infinite losses then are harmless.

## References
IEEE 754-2019, sections 6 and 7 (infinity, NaN and the operations that give them).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import stretches
from neuraldbg.measures.subjects import LOSS
from neuraldbg.records import SemanticEvent

NEEDS = ("loss.value",)


def detect(run: Run) -> Iterator[SemanticEvent]:
    facts = run.trace.facts("nonfinite.loss")
    for curve in run.curves:
        for first, end in stretches(~np.isfinite(curve.values)):
            step = int(curve.steps[first])
            born = facts[0] if facts and facts[0].step == step else None
            kind = "infinite" if born is not None and born.data.get("value") == "inf" else "NaN"
            producer = born.data.get("producer") if born is not None else None
            operation = str(producer["operation"]).lower() if producer and producer.get("kind") == "operation" else ""
            line = f" at {producer['source']}" if operation and producer and producer.get("source") else ""
            place = f", born in {operation}{line}" if operation else ""
            where = " inside the loss" if operation and producer and producer.get("module") is None else ""
            yield saw(
                "optimizer_instability",
                "non_finite",
                (step, curve.steps[end]),
                f"the loss is {kind}{place}{where}",
                subject=LOSS,
                findings=("loss_non_finite", "loss_in_hazardous_operation", "domain_edge_at_trouble"),
                confidence=1.0,
                stream=curve.place.name,
                produces=True if where else None,
                argument=producer.get("smallest_input") if where and producer else None,
            )
