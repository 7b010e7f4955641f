"""The gradient at a layer is next to nothing compared with the gradient at the loss end.

## What it detects
At a module's output the gradient norm is below a thousandth of the one at the module next to the loss, step after step.
For a module that is called many times in a step (a recurrent cell), the gradient at its first call below a thousandth
of the one at its last call.

## Why it matters
A layer is trained by the gradient that reaches it. Where a thousandth arrives, a step that suits the last layer is a
thousand times too short for the first one.

## Evidence
`module.output_gradient_norm` over the longest path of the data flow, `module.first_call_gradient_norm`. `log_gain` of a
layer: log10 of the gradient it hands on over the gradient it receives; along the path they add up to the whole loss.

## When it is wrong
Norms grow with the number of elements: a narrow layer behind a wide one has a smaller gradient without any fault, which
is why the bound is as low as a thousandth. A layer behind a gate or a residual weight that starts at zero recovers.

## References
Hochreiter 1991; Glorot and Bengio 2010, Understanding the difficulty of training deep feedforward neural networks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import below, named, saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import median, running_median, stretches
from neuraldbg.records import SemanticEvent

NEEDS = ("module.output_gradient_norm", "module.first_call_gradient_norm", "module.calls")

#: Ratio of norms: three powers of ten, more than width and normalization account for (Glorot and Bengio 2010, fig. 7).
BOUND = 1e-3
#: Calls in a step from which a module counts as run over time.
MANY_CALLS = 6


def detect(run: Run) -> Iterator[SemanticEvent]:
    yield from _over_depth(run)
    yield from _over_time(run)


def _over_depth(run: Run) -> Iterator[SemanticEvent]:
    chain = run.chain()
    series = run.series("module.output_gradient_norm")
    if chain is None or not series:
        return
    names = [name for name in chain.modules if name in series.position]
    if len(names) < 2:
        return
    column = {name: series.values[:, series.position[name]] for name in names}
    last, gains = column[names[-1]], chain.shares()
    for name in names[:-1]:
        seen = np.flatnonzero(~np.isnan(column[name]) & ~np.isnan(last))
        steps, own, reference = series.steps[seen], column[name][seen], last[seen]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = running_median(np.where(reference > 0, own / reference, 1.0))
        # Where everything is near zero, at a minimum, nothing vanishes on its way.
        flags = (ratio < BOUND) & np.isfinite(own) & np.isfinite(reference) & (reference > 1e-12)
        for first, end in stretches(flags, at_least=min(3, len(seen))):
            smallest = median(ratio[first : end + 1])
            yield saw(
                "gradient_health_transition",
                "vanishing",
                (steps[first], steps[end]),
                f"at {named(name)} the gradient is {smallest:.1g} of what it is at {named(names[-1])}",
                layer=name,
                findings=(
                    "gradient_vanishes_over_depth",
                    "gradient_shrinks_over_depth",
                    "gradient_loss_spread_evenly",
                    "gradient_loss_concentrated",
                ),
                confidence=below(smallest, BOUND),
                ratio=smallest,
                gradient=median(own[first : end + 1]),
                log_gain=gains.get(name),
            )


def _over_time(run: Run) -> Iterator[SemanticEvent]:
    calls, first_call = run.series("module.calls"), run.series("module.first_call_gradient_norm")
    for name, most in zip(calls.names, calls.largest.tolist()):
        if most < MANY_CALLS or name not in first_call.position:
            continue
        steps, early = first_call.column(name)
        by_step = dict(zip(*(part.tolist() for part in run.series("module.output_gradient_norm").column(name))))
        late = np.array([by_step.get(step, np.nan) for step in steps.tolist()])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(late > 0, early / late, 1.0)
        for first, end in stretches(running_median(ratio) < BOUND, at_least=min(3, steps.size)):
            smallest = median(ratio[first : end + 1])
            yield saw(
                "gradient_health_transition",
                "vanishing",
                (steps[first], steps[end]),
                f"over time the gradient of {named(name)} falls to {smallest:.1g} from its last call to its first",
                layer=name,
                findings=("gradient_vanishes_over_time",),
                confidence=below(smallest, BOUND),
                ratio=smallest,
            )
