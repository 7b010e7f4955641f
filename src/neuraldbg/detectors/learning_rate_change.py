"""The learning rate rises or falls by a factor within a few steps.

## What it detects
A rise to more than three times, later than the first steps; a warmup that takes the rate to more than three times;
a fall below a hundredth of the peak before the last quarter of the run.

## Why it matters
A loss that breaks or stops in the step in which the rate changed needs no other explanation.

## Evidence
`optimizer.learning_rate`, recorded at every change.

## When it is wrong
Warmup, cycles and restarts change the rate by plan; without a change in the loss that follows it means nothing.

## References
Goyal et al. 2017 (warmup); Loshchilov and Hutter 2017, SGDR.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import LEARNING_RATE
from neuraldbg.records import SemanticEvent

NEEDS = ("optimizer.learning_rate",)

#: Factor between two successive values: schedules that are meant well step down by ten and up by far less.
JUMP = 3.0
#: Share of the peak that counts as nothing left.
COLLAPSED = 0.015


def detect(run: Run) -> Iterator[SemanticEvent]:
    steps, rates = run.learning_rate
    if rates.size < 2:
        return
    last = max(run.trace.last_step, int(steps[-1]))
    for row in range(1, rates.size):
        if steps[row] >= 3 and rates[row] > JUMP * rates[row - 1] > 0:
            yield _change(steps[row], last, rates[row - 1], rates[row], "spike", ("learning_rate_jumped",))
    peak, top = int(rates.argmax()), float(rates.max())
    lowest = int(rates[: peak + 1].argmin())
    if peak > lowest and 0 < JUMP * rates[lowest] < top and not _jumps(steps, rates):
        begin = int(np.flatnonzero(rates[lowest : peak + 1] > JUMP * rates[lowest])[0]) + lowest
        yield _change(steps[begin], int(steps[peak]), rates[lowest], top, "spike", ("learning_rate_rose_into_trouble",))
    low = np.flatnonzero((rates < COLLAPSED * top) & (np.arange(rates.size) > peak))
    if low.size and steps[low[0]] <= 0.75 * last and rates[low[0] :].max() <= 0.05 * top:
        high = np.flatnonzero(rates[: low[0]] >= 0.5 * top)
        fell = int(steps[high[-1]]) if high.size else int(steps[low[0]])
        begin = max(fell, min(int(steps[low[0]]), fell + 5))
        yield _change(begin, last, top, float(rates[low[0]]), "plateau", ("learning_rate_collapsed_early",))


def _jumps(steps: np.ndarray, rates: np.ndarray) -> bool:
    return any(steps[row] >= 3 and rates[row] > JUMP * rates[row - 1] > 0 for row in range(1, rates.size))


def _change(step: int, last: int, before: float, after: float, state: str, findings: tuple[str, ...]) -> SemanticEvent:
    verb = "rises" if after > before else "falls"
    return saw(
        "optimizer_instability",
        state,
        (int(step), int(last)),
        f"the learning rate {verb} from {before:.3g} to {after:.3g}",
        subject=LEARNING_RATE,
        findings=findings,
        confidence=beyond(max(after, before) / max(min(after, before), 1e-30), JUMP),
        before=float(before),
        after=float(after),
    )
