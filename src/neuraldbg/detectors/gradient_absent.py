"""Parameters that should train get no gradient at all, or one that is exactly zero.

## What it detects
Per layer: parameters with requires_grad that had no gradient at any step although backward passes came; and parameters
whose gradient is exactly zero, entry by entry, step after step.

## Why it matters
What gets no gradient does not learn, whatever the optimizer. An exact zero is never chance: the path to the loss is
cut, is never taken, or leads through units that are all off.

## Evidence
Fact `model.membership`; `parameter.has_gradient`, `parameter.gradient_norm`.

## When it is wrong
An embedding row that did not occur, an expert that was not chosen, a loss that is exactly zero on purpose: these come
back, and the stretch ends.

## References
PyTorch documentation, Autograd mechanics, "Setting requires_grad".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import named, saw, several
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.measures.stretches import stretches
from neuraldbg.measures.wiring import parameters_without_gradient
from neuraldbg.records import SemanticEvent

NEEDS = ("parameter.gradient_norm", "parameter.has_gradient", "module.output_requires_grad")

#: Observed steps of exact zeros before they count: one batch may leave a layer out.
ROWS = 5


def detect(run: Run) -> Iterator[SemanticEvent]:
    without = parameters_without_gradient(run)
    by_layer: dict[str, list[str]] = {}
    for name in without:
        by_layer.setdefault(owner_of(name), []).append(name)
    for layer, names in by_layer.items():
        yield saw(
            "gradient_health_transition",
            "absent",
            (0, max(0, run.trace.last_step)),
            f"{named(layer)} gets no gradient ({several(names)})",
            layer=layer,
            findings=(
                "graph_is_cut",
                "parameters_never_reached",
                "output_is_dropped",
                "lost_part_is_the_front",
                "parameters_left_out_of_optimizer",
            ),
            confidence=0.95,
            parameters=len(names),
        )
    yield from _exact_zeros(run, set(without))


def _exact_zeros(run: Run, known: set[str]) -> Iterator[SemanticEvent]:
    series = run.series("parameter.gradient_norm")
    always = np.all(series.values > 0, axis=0)
    columns: dict[str, list[int]] = {}
    for index, name in enumerate(series.names):
        if name not in known:
            columns.setdefault(owner_of(name), []).append(index)
    for layer, own in columns.items():
        if any(always[index] for index in own):
            continue
        values = series.values[:, own]
        seen = ~np.isnan(values).all(axis=1)
        steps = series.steps[seen]
        zero = np.nan_to_num(values[seen], nan=0.0).max(axis=1) == 0
        for first, end in stretches(zero, at_least=ROWS):
            yield saw(
                "gradient_health_transition",
                "absent",
                (steps[first], steps[end]),
                f"the gradient of {named(layer)} is exactly zero",
                layer=layer,
                findings=("gradients_zero", "zero_weights_block_gradient"),
                confidence=0.5 + 0.05 * (end - first),
                rows=end - first + 1,
            )
