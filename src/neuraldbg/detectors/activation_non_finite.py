"""A module's output is NaN or infinite.

## What it detects
Modules whose output is not finite. The one that reads finite inputs produces it; those after it pass it on. Where the
graph of the step shows the operation in which the value was born, its name is given.

## Why it matters
The place of the first one is the place to mend: everything behind it is NaN for that reason alone.

## Evidence
`module.output_absmax`, `module.output_sum`, `module.input_absmax`, `activation.nonfinite`; fact `nonfinite.loss`
with the producer.

## When it is wrong
Masks of minus infinity before a softmax are no fault; they are not read as module outputs unless a module returns them.

## References
IEEE 754-2019, sections 6 and 7.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import named, saw
from neuraldbg.measures.flow import flow_of
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import stretches
from neuraldbg.records import Fact, SemanticEvent

NEEDS = ("module.output_absmax", "module.output_sum", "module.input_absmax")


def detect(run: Run) -> Iterator[SemanticEvent]:
    bad = _bad_stretches(run)
    first_step = min((steps[0] for _, steps in bad), default=None)
    facts = run.trace.facts("nonfinite.loss")
    born = facts[0] if facts else None
    if born is not None and not bad:
        yield from _born_between_modules(born)
    producers = _producers(run, [layer for layer, steps in bad if steps[0] == first_step], first_step)
    for layer, steps in bad:
        makes = steps[0] == first_step and layer in producers
        how = _operation(born, layer) if makes else ""
        reads = "reads finite values and gives" if makes else "gives"
        yield saw(
            "activation_regime_shift",
            "non_finite",
            steps,
            f"{named(layer)} {reads} NaN or infinite values{how}",
            layer=layer,
            findings=_findings(born, steps[0]) if makes else (),
            confidence=1.0,
            produces=bool(makes),
        )


def _bad_stretches(run: Run) -> list[tuple[str, tuple[int, int]]]:
    found: list[tuple[str, tuple[int, int]]] = []
    for quantity in ("module.output_absmax", "module.output_sum"):
        series = run.series(quantity)
        for index in np.flatnonzero(np.isinf(series.values).any(axis=0)).tolist():
            for first, end in stretches(np.isinf(series.values[:, index])):
                found.append((series.names[index], (int(series.steps[first]), int(series.steps[end]))))
    return found


def _producers(run: Run, layers: list[str], step: int | None) -> set[str]:
    """Among modules that turn bad in one step: those that no other of them feeds, and whose own input was finite."""
    if step is None:
        return set()
    flow, reads = flow_of(run), run.series("module.input_absmax")
    found = set()
    for layer in layers:
        steps, largest = reads.column(layer)
        fed_badly = bool(np.isinf(largest[steps == step]).any())
        if not fed_badly and not any(flow.reaches(other, layer) for other in layers):
            found.add(layer)
    return found


def _operation(born: Fact | None, layer: str) -> str:
    producer = born.data.get("producer") if born is not None else None
    if (
        not producer
        or producer.get("kind") != "operation"
        or layer not in (producer.get("module"), producer.get("producer"))
    ):
        return ""
    dtype = f" in {producer['dtype']}" if producer.get("dtype") in ("float16", "bfloat16") else ""
    return f", born in {str(producer['operation']).lower()}{dtype}"


def _born_between_modules(born: Fact) -> Iterator[SemanticEvent]:
    """The value was born behind the last module, or in one whose output was not sampled."""
    producer = born.data.get("producer")
    if not producer or producer.get("kind") != "operation" or producer.get("module") is None:
        return
    layer = str(producer["module"])
    yield saw(
        "activation_regime_shift",
        "non_finite",
        (born.step, born.step),
        f"inside {named(layer)} the first values that are not finite come out of {str(producer['operation']).lower()}",
        layer=layer,
        findings=_findings(born, born.step),
        confidence=1.0,
        produces=True,
        argument=producer.get("smallest_input"),
    )


def _findings(born: Fact | None, step: int) -> tuple[str, ...]:
    names = ["first_non_finite_in_float16", "a_module_makes_non_finite_values", "outputs_overflow_at_once"]
    if born is not None and born.step == step:
        names += ["loss_in_hazardous_operation", "domain_edge_at_trouble"]
    return tuple(names)
