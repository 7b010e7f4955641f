"""Modules run in the wrong mode.

## What it detects
Modules with a training mode (dropout, batch norm) that run in eval mode in forwards that get a backward, and such
modules that run in train mode in forwards without gradients.

## Why it matters
Batch norm in eval mode divides by statistics that never change while the weights do; dropout is off, or on in
validation.

## Evidence
`module.training`, `evaluation.training`.

## When it is wrong
Batch norms of a frozen backbone are in eval mode on purpose. Monte Carlo dropout runs in train mode in validation: it
is left out where the model around it is in eval mode.

## References
PyTorch documentation, Module.train and Module.eval.
"""

from __future__ import annotations

from collections.abc import Iterator

from neuraldbg.detectors._event import named, saw
from neuraldbg.measures.evaluation import in_train_mode
from neuraldbg.measures.run import Run
from neuraldbg.measures.wiring import modes
from neuraldbg.records import SemanticEvent

NEEDS = ("module.training", "evaluation.training")


def detect(run: Run) -> Iterator[SemanticEvent]:
    found = [(place, share, first) for place, share, first in modes(run) if place.details.get("has_mode")]
    off = [(first if first is not None else 0, place) for place, share, first in found if share < 0.5]
    if off:
        first, place = min(off, key=lambda item: (item[0], item[1].identifier))
        whole = len(off) == len(found)
        yield saw(
            "wiring_fault",
            "faulty",
            (first, max(first, run.trace.last_step)),
            (
                f"{len(off)} of {len(found)} modules with a training mode run in "
                f"eval mode while parameters are trained ({named(place.name)})"
            ),
            layer=place.name,
            findings=("modules_in_eval_mode",) + (("whole_model_in_eval_mode",) if whole else ()),
            confidence=0.9 if whole else 0.6,
            share=len(off) / len(found),
        )
    steps = run.series("evaluation.training").steps
    for place in in_train_mode(run)[:1]:
        yield saw(
            "wiring_fault",
            "faulty",
            (steps[0], steps[-1]),
            f"{named(place.name)} runs in train mode in forwards without gradients",
            layer=place.name,
            findings=("validation_in_train_mode",),
            confidence=0.8,
        )
