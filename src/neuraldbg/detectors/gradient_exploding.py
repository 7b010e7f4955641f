"""The gradient leaves its own running level.

## What it detects
The gradient of a step is more than ten times the median of the twenty observed before it: for the whole model, and for
each layer of which the same holds in that step.

## Why it matters
A step in proportion to such a gradient carries the weights away from what they have learned; a level that keeps rising
is a run that diverges.

## Evidence
`gradient.norm` (all parameters of an optimizer), `parameter.gradient_norm` (which layers).

## When it is wrong
Near a minimum the level is small, and a harder batch is ten times it without harm (what stays below the level of the
first steps is left out); clipping makes it harmless. Then the
loss does not move, and no hypothesis is raised.

## References
Pascanu, Mikolov and Bengio 2013, On the difficulty of training recurrent neural networks (clipping).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, named, saw, times
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.measures.stretches import level_before, stretches
from neuraldbg.measures.subjects import GRADIENT
from neuraldbg.records import SemanticEvent

NEEDS = ("gradient.norm", "parameter.gradient_norm")

#: Times the run's own running median; isolated spikes that break training are 10 to 1000 times it (signatures of
#: missing clipping), the spread between ordinary batches is below 5.
BOUND = 10.0
#: Observed steps at the start whose median a spike has to exceed as well: near a minimum ten times nothing is nothing.
OPENING = 10
#: Layers named at most in one stretch.
NAMED = 24


def detect(run: Run) -> Iterator[SemanticEvent]:
    steps, norm = run.of_optimizer("gradient.norm")
    level = level_before(norm, at_least=8)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(level > 0, norm / level, np.nan)
    # Once a stretch has begun, what came before it stays the measure: else a lasting rise would look like a new level.
    opening = norm[np.isfinite(norm)][:OPENING]
    typical = float(np.median(opening)) if opening.size else 0.0
    for first, end in _lasting(norm, level, (ratio > BOUND) & (norm > typical)):
        largest = float(np.nanmax(norm[first : end + 1]) / level[first])
        begin, stop = int(steps[first]), int(steps[end])
        if not np.isfinite(norm[first]):
            continue
        layers = _layers(run, begin, stop)
        sentence = f"the gradient is {times(largest)} its running level of {level[first]:.2g}"
        findings = ("gradient_spikes", "gradient_grows_before_trouble", "explosion_precedes")
        if not layers:
            yield saw(
                "gradient_health_transition",
                "exploding",
                (begin, stop),
                sentence,
                subject=GRADIENT,
                findings=findings,
                confidence=beyond(largest, BOUND),
                ratio=largest,
            )
        for layer, own in layers:
            yield saw(
                "gradient_health_transition",
                "exploding",
                (begin, stop),
                f"at {named(layer)} the gradient is {times(own)} its running level",
                layer=layer,
                findings=findings,
                confidence=beyond(own, BOUND),
                ratio=own,
                ratio_of_model=largest,
            )


def _lasting(norm: np.ndarray, level: np.ndarray, flags: np.ndarray) -> Iterator[tuple[int, int]]:
    row = 0
    while row < norm.size:
        if not flags[row]:
            row += 1
            continue
        bound = BOUND * level[row]
        above = [after for after in range(row, norm.size) if not norm[after] <= bound]
        inside = stretches(np.isin(np.arange(norm.size), above))
        end = next((last for start, last in inside if start <= row <= last), row)
        yield row, end
        row = end + 1


def _layers(run: Run, first: int, last: int) -> list[tuple[str, float]]:
    """Layers whose own gradient left its level between two steps, with the factor; the largest first."""
    series = run.series("parameter.gradient_norm")
    inside = (series.steps >= first) & (series.steps <= last)
    before = (series.steps < first) & (series.steps >= first - 60)
    found: dict[str, float] = {}
    for index, name in enumerate(series.names):
        now, earlier = series.values[inside, index], series.values[before, index]
        now, earlier = now[np.isfinite(now)], earlier[np.isfinite(earlier)]
        if now.size and earlier.size >= 5 and np.median(earlier) > 0:
            factor = float(now.max() / np.median(earlier))
            if factor > BOUND:
                found[owner_of(name)] = max(found.get(owner_of(name), 0.0), factor)
    return sorted(found.items(), key=lambda item: -item[1])[:NAMED]
