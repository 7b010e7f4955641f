"""A batch carries NaN or Inf into the model.

## What it detects
The first input tensor that holds NaN or infinite values, with its step, rows and features.

## Why it matters
One such value makes the loss of the batch NaN and, with one step, every weight.

## Evidence
Fact `nonfinite.input`; `input.nonfinite`; fact `nonfinite.loss` when the value came in without being an argument.

## When it is wrong
Missing values that the model masks out itself before using them.

## References
IEEE 754-2019, section 6.2 (propagation of NaN).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import stretches
from neuraldbg.measures.subjects import INPUT
from neuraldbg.records import Fact, SemanticEvent

NEEDS = ("input.nonfinite",)

FINDINGS = ("input_non_finite", "non_finite_begins_at_input")


def detect(run: Run) -> Iterator[SemanticEvent]:
    facts = [fact for fact in run.trace.facts("nonfinite.input") if not fact.data.get("evaluation")]
    series = run.series("input.nonfinite").of_kind("input")
    bad = {
        name: [
            (int(series.steps[first]), int(series.steps[end]), float(series.values[first, index]))
            for first, end in found
        ]
        for index, name in enumerate(series.names)
        if (found := stretches(np.nan_to_num(series.values[:, index], posinf=1.0) > 0))
    }
    for fact in facts:
        name = fact.place.name if fact.place is not None else ""
        # The fact is written while the forward runs, before the round that it belongs to is counted: the numbers, where
        # there are any, have its step.
        near = [part for part in bad.get(name, []) if 0 <= part[0] - fact.step <= 1]
        steps = (near[0][0], near[0][1]) if near else (fact.step, fact.step)
        bad[name] = [part for part in bad.get(name, []) if part not in near]
        yield _event(name, "nan" if fact.data.get("nan") else "inf", steps, _words(fact))
    for name, parts in bad.items():
        for first, last, count in parts:
            yield _event(name, "nan", (first, last), f"holds {count:.0f} value(s) that are not finite")
    born = run.trace.facts("nonfinite.loss")
    producer = born[0].data.get("producer") if born else None
    if not facts and producer and producer.get("kind") == "input" and not born[0].data.get("bad_parameters"):
        yield _event("", "nan", (born[0].step, born[0].step), "(a tensor that needs no gradient) is not finite")


def _event(name: str, kind: str, steps: tuple[int, int], sentence: str) -> SemanticEvent:
    subject = f"{INPUT} {name}".rstrip()
    return saw("data_anomaly", kind, steps, f"{subject} {sentence}", subject=subject, findings=FINDINGS, confidence=1.0)


def _words(fact: Fact) -> str:
    rows, features = fact.data.get("rows") or [], fact.data.get("features") or []
    where = f", rows {_list(rows)}" if rows else ""
    where += f", features {_list(features)}" if features else ""
    kind = "NaN" if fact.data.get("nan") else "infinite"
    return f"holds {fact.data.get('count', 1)} value(s) that are {kind}{where}"


def _list(values: list[int]) -> str:
    return ", ".join(str(value) for value in values[:5]) + (" …" if len(values) > 5 else "")
