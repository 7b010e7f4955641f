"""The curves of a page: loss, learning rate, inputs, targets, update; thinned so that no spike is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from neuraldbg.measures.loss_curve import loss_curves
from neuraldbg.records import Trace
from neuraldbg.report.html.packing import numbers
from neuraldbg.report.text import clean, number

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Points of a curve; a longer one keeps the lowest and the highest of each stretch.
MOST_POINTS = 1000
#: Curves that one chart shows.
MOST_CURVES = 4


@dataclass(frozen=True)
class Curve:
    """One line of a chart."""

    label: str
    #: Ascending; shape (points,).
    steps: IntArray
    #: Infinite where the number was not finite; shape (points,).
    values: FloatArray
    #: How many numbers were measured.
    measured: int

    @property
    def first_broken(self) -> int | None:
        """Step of the first number that was not finite."""
        broken = np.flatnonzero(~np.isfinite(self.values))
        return int(self.steps[broken[0]]) if broken.size else None


@dataclass(frozen=True)
class Chart:
    """A few curves over the steps."""

    identifier: str
    title: str
    curves: tuple[Curve, ...]
    #: Whether the values span so much that a logarithmic axis reads better.
    logarithmic: bool = False
    notes: tuple[str, ...] = field(default=())

    def sentence(self) -> str:
        """What the chart shows, in words."""
        parts = []
        for curve in self.curves:
            finite = curve.values[np.isfinite(curve.values)]
            if not finite.size:
                parts.append(f"{curve.label} was never finite")
                continue
            low, high = number(float(finite.min())), number(float(finite.max()))
            part = f"{curve.label} from {number(float(finite[0]))} to {number(float(finite[-1]))}"
            if low != high:
                part += f" (lowest {low}, highest {high})"
            if curve.first_broken is not None:
                part += f", not finite from step {curve.first_broken:,}"
            parts.append(part)
        return "; ".join(parts) + "." if parts else ""

    def data(self) -> dict[str, Any]:
        """What the page's script draws: curves on common steps, None where one has no point."""
        steps = np.unique(np.concatenate([curve.steps for curve in self.curves]))
        series = []
        for curve in self.curves:
            values = np.full(len(steps), np.nan)
            values[np.searchsorted(steps, curve.steps)] = curve.values
            series.append({"label": curve.label, "values": numbers(values), "broken": curve.first_broken})
        return {
            "title": self.title,
            "log": self.logarithmic,
            "steps": steps.tolist(),
            "series": series,
            "sentence": self.sentence(),
        }


def charts(trace: Trace) -> dict[str, Chart]:
    """All charts of which something was measured, by identifier, in the order of the page."""
    drawn = [
        _loss(trace),
        _chart(trace, "rate", "Learning rate", ("optimizer.learning_rate",), flat=True),
        _chart(trace, "inputs", "Inputs", ("input.std", "input.absmax")),
        _chart(trace, "targets", "Targets", ("target.mean", "target.std", "target.top_share", "target.entropy")),
        _chart(trace, "norms", "Gradient norm and update ratio", ("gradient.norm", "update.ratio")),
    ]
    return {chart.identifier: chart for chart in drawn if chart is not None}


def _loss(trace: Trace) -> Chart | None:
    curves = [
        _thin("loss" if curve.place.name == "loss" else f"loss {curve.place.name}", curve.steps, curve.values)
        for curve in loss_curves(trace)[:MOST_CURVES]
        if len(curve.steps)
    ]
    evaluation = trace.series("evaluation.loss")
    for name in evaluation.names[:1]:
        steps, values = evaluation.column(name)
        curves.append(_thin("validation loss", steps, values))
    return _finished("loss", "Loss", curves)


def _chart(trace: Trace, identifier: str, title: str, quantities: Sequence[str], flat: bool = False) -> Chart | None:
    curves = []
    for quantity in quantities:
        series = trace.series(quantity)
        for name in series.names[: 1 if len(quantities) > 1 else MOST_CURVES]:
            steps, values = series.column(name)
            if not len(steps):
                continue
            if flat and steps[-1] < trace.last_step:  # measured at its changes only
                steps, values = np.append(steps, trace.last_step), np.append(values, values[-1])
            words = quantity.partition(".")[2] if len(quantities) > 1 else name
            label = f"{quantity.partition('.')[0]} {words}" if identifier == "norms" else words
            curves.append(_thin(label.replace("_", " "), steps, values))
    return _finished(identifier, title, curves[:MOST_CURVES])


def _finished(identifier: str, title: str, curves: Sequence[Curve]) -> Chart | None:
    if not curves:
        return None
    finite = np.concatenate([curve.values[np.isfinite(curve.values)] for curve in curves])
    positive = finite[finite > 0]
    wide = bool(positive.size) and positive.size == finite.size and bool(positive.max() > 100 * positive.min())
    notes = tuple(
        f"{curve.label}: {len(curve.steps):,} of {curve.measured:,} points are drawn, the lowest and the highest of "
        "each stretch"
        for curve in curves
        if curve.measured > len(curve.steps)
    )
    return Chart(identifier, title, tuple(curves), wide, notes)


def _thin(label: str, steps: IntArray, values: FloatArray) -> Curve:
    measured = len(steps)
    steps, values = thinned(steps, values, MOST_POINTS)
    return Curve(clean(label), steps, values, measured)


def thinned(steps: IntArray, values: FloatArray, most: int) -> tuple[IntArray, FloatArray]:
    """At most about ``most`` points of a curve, one per step: first and last, the lowest and the highest of each
    stretch, and the first number of each that is not finite."""
    steps, kept = np.unique(steps, return_index=True)
    values = values[kept]
    if len(steps) <= most:
        return steps, values
    bounds = np.linspace(0, len(steps), most // 2 + 1).astype(int)
    chosen: set[int] = {0, len(steps) - 1}
    for first, last in pairwise(bounds.tolist()):
        part = values[first:last]
        finite = np.isfinite(part)
        if finite.any():
            chosen.add(first + int(np.argmin(np.where(finite, part, np.inf))))
            chosen.add(first + int(np.argmax(np.where(finite, part, -np.inf))))
        if not finite.all():
            chosen.add(first + int(np.argmin(finite)))
    index = np.array(sorted(chosen))
    return steps[index], values[index]
