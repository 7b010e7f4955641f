"""A value leaves the range of float16.

## What it detects
The first module computing in float16 whose output is infinite; outputs in float16 that come within a factor of four of
65504, the largest finite number; a loss scale that sinks below one.

## Why it matters
Infinity minus infinity is NaN: one overflow in the forward spoils the batch, and with one step the weights.

## Evidence
`module.half_precision`, `module.output_absmax`; `scaler.scale`; fact `nonfinite.loss` (dtype of the producer).

## When it is wrong
A mask of the most negative number is at the edge on purpose.

## References
IEEE 754-2019, binary16; Micikevicius et al. 2018, Mixed precision training.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, named, saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import stretches
from neuraldbg.records import SemanticEvent

NEEDS = ("module.half_precision", "module.output_absmax", "scaler.scale")

#: The largest finite number of float16.
LARGEST = 65504.0
#: What ``module.half_precision`` says for float16 (8 for bfloat16, whose range is that of float32).
FLOAT16 = 16.0


def detect(run: Run) -> Iterator[SemanticEvent]:
    half, series = run.series("module.half_precision"), run.series("module.output_absmax")
    names = [name for i, name in enumerate(half.names) if np.nanmax(half.values[:, i], initial=0.0) == FLOAT16]
    for name in names:
        steps, largest = series.column(name)
        for first, end in stretches(np.isinf(largest))[:1]:
            yield _event(
                (int(steps[first]), int(steps[end])),
                f"the output of {named(name)} left the range of float16 (65504)",
                name,
                ("first_non_finite_in_float16",),
                1.0,
            )
        finite = np.where(np.isfinite(largest), largest, 0.0)
        for first, end in stretches(finite > LARGEST / 4)[:1]:
            top = float(finite[first : end + 1].max())
            yield _event(
                (int(steps[first]), int(steps[end])),
                f"the output of {named(name)} reaches {top:.3g} in float16, whose largest number is 65504",
                name,
                ("outputs_near_float16_limit",),
                beyond(top, LARGEST / 4),
                largest=top,
            )
    born = run.trace.facts("nonfinite.loss")
    producer = born[0].data.get("producer") if born else None
    if producer and producer.get("dtype") == "float16" and producer.get("kind") == "operation":
        layer = producer.get("module") or producer.get("producer")
        sentence = f"{str(producer['operation']).lower()} in float16 gives the first value that is not finite"
        yield _event((born[0].step, born[0].step), sentence, layer, ("first_non_finite_in_float16",), 0.95)
    steps, scale = run.trace.scalar("scaler.scale", "scaler")
    if (scale < 1).any():
        row = int(np.flatnonzero(scale < 1)[0])
        yield _event(
            (int(steps[row]), int(steps[-1])),
            f"the loss scale sinks to {scale.min():.2g}",
            None,
            ("loss_scale_sinks",),
            0.8,
        )


def _event(
    steps: tuple[int, int],
    sentence: str,
    layer: str | None,
    findings: tuple[str, ...],
    confidence: float,
    **numbers: float,
) -> SemanticEvent:
    return saw(
        "precision_anomaly",
        "overflow",
        steps,
        sentence,
        layer=layer,
        subject=None if layer is not None else "the loss scale",
        findings=findings,
        confidence=confidence,
        numbers=numbers,
    )
