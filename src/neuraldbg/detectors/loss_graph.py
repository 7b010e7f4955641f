"""The loss is built in a way that it should not be: softmax twice, an output that cannot reach the targets, one class.

## What it detects
A softmax or sigmoid in front of a loss that applies one itself; an output activation that cannot give what the targets
ask for (ReLU under logits, a sigmoid under targets outside 0 to 1); a softmax over a single output.

## Why it matters
Softmax of a softmax cannot tell classes apart by more than a factor of e: with C classes the loss cannot fall below
log(1 + (C - 1) / e). A target out of reach leaves a residual for ever.

## Evidence
Fact `loss.structure`: the operations between the model and the loss; `target.min`, `target.max`, `target.std`.

## When it is wrong
A temperature or a mixture of softmaxes in front of a logarithm may be meant so.

## References
PyTorch documentation, CrossEntropyLoss ("The input is expected to contain the unnormalized logits").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.loss_structure import bounded_output, limits_logits, twice_applied
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import LOSS
from neuraldbg.measures.wiring import source_of, terms_of
from neuraldbg.records import SemanticEvent

NEEDS = ("target.min", "target.max", "target.std")


def detect(run: Run) -> Iterator[SemanticEvent]:
    for stream, term in terms_of(run):
        twice, limited = twice_applied(term), limits_logits(term)
        single = term.get("class_count", (term.get("prediction_shape") or [0])[-1]) == 1
        if single and str((term.get("chain") or [""])[0]) in ("Softmax", "LogSoftmax"):
            yield _event(
                run, stream, "the softmax runs over a single output and is constant", None, "softmax_over_one_class"
            )
        elif twice is not None:
            classes = term.get("class_count")
            floor = (
                f"; with {classes} classes it cannot go below {math.log(1 + (classes - 1) / math.e):.2f}"
                if classes
                else ""
            )
            sentence = (
                f"the loss ({term.get('operation')}) reads outputs that "
                f"went through {twice.operation.lower()} already{floor}"
            )
            yield _event(run, stream, sentence, twice.layer, "softmax_before_loss")
        elif limited is not None:
            sentence = f"the logits go through {limited.operation.lower()} before the loss ({term.get('operation')})"
            yield _event(run, stream, sentence, limited.layer, "output_activation_out_of_reach")
        else:
            yield from _out_of_reach(run, stream, term)


def _out_of_reach(run: Run, stream: str, term: Mapping[str, Any]) -> Iterator[SemanticEvent]:
    bounded = bounded_output(term)
    _, lowest = run.series("target.min").column(stream)
    _, highest = run.series("target.max").column(stream)
    _, spread = run.series("target.std").column(stream)
    if bounded is None or not (lowest.size and highest.size and spread.size):
        return
    activation, (low, high) = bounded
    below, above, own = float(np.median(lowest)), float(np.median(highest)), float(np.median(spread))
    # Targets may touch the bound: a twentieth of their spread, a fiftieth of the range, is nothing to reach for.
    margin = 0.05 * max(own, 1e-12)
    wide = 0.02 * (high - low) if math.isfinite(high - low) else 0.0
    if below < low - margin or above > high + max(margin, wide):
        sentence = (
            f"the output goes through {activation.operation.lower()} ({low:g} to {high:g}), "
            f"and the targets run from {below:.3g} to {above:.3g}"
        )
        yield _event(run, stream, sentence, activation.layer, "output_activation_out_of_reach")


def _event(run: Run, stream: str, sentence: str, layer: str | None, finding: str) -> SemanticEvent:
    return saw(
        "wiring_fault",
        "faulty",
        (0, max(0, run.trace.last_step)),
        sentence,
        layer=layer,
        subject=LOSS,
        findings=(finding,),
        confidence=0.95,
        source=source_of(run, stream),
    )
