"""The layer × step maps: each measured number of each layer over time, made small enough for a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from neuraldbg.measures.flow import Flow
from neuraldbg.measures.run import Run
from neuraldbg.records import Series, Trace

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Rows and columns that a page shows at most; above, several modules or steps share a cell.
MOST_ROWS = 250
MOST_COLUMNS = 400

#: −inf in a map is a measured zero on a logarithmic scale, +inf a number that was not finite, NaN not measured.


@dataclass(frozen=True)
class Metric:
    """What a map shows."""

    name: str
    title: str
    #: How a value reads: "log10" (10 to its power), "share" (0..1).
    scale: str
    explanation: str


METRICS = (
    Metric(
        "gradient",
        "Gradient norm (log10)",
        "log10",
        "Norm of the loss's gradient at the layer's output, as a logarithm. Low towards the input: it vanishes.",
    ),
    Metric(
        "gain",
        "Log-gain of the gradient",
        "log10",
        "log10 of the gradient norm at the layer's input over that at its output. Below 0 the layer loses gradient, "
        "above 0 it amplifies it.",
    ),
    Metric("dead", "Dead units", "share", "Share of the units that give zero for every sample of the batch."),
    Metric(
        "saturated",
        "Saturated units",
        "share",
        "Share of the activations on the flat part of a sigmoid or tanh, where hardly any gradient passes.",
    ),
    Metric(
        "update",
        "Update ratio (log10)",
        "log10",
        "Norm of the optimizer's step over the norm of the weights it moves. About -3 is ordinary, above -1 is wild.",
    ),
)


@dataclass(frozen=True)
class LayerMap:
    """One metric over layers and time."""

    metric: Metric
    #: Shape (rows, columns).
    cells: FloatArray
    #: Whether anything of this metric was measured in a column; shape (columns,).
    measured: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class LayerMaps:
    """All maps of a run on common axes."""

    #: Label of each row, first in the data flow first.
    labels: tuple[str, ...]
    #: The modules that each row stands for.
    members: tuple[tuple[str, ...], ...]
    #: First step of each column, and behind the last one the number of steps; shape (columns + 1,).
    edges: IntArray
    maps: tuple[LayerMap, ...]
    #: Metrics of which nothing was measured.
    missing: tuple[Metric, ...]
    #: Sentences on what was put together, for the reader.
    notes: tuple[str, ...]

    def row_of(self, place: str | None) -> int | None:
        """The row of a module or parameter path, or of the first module inside it; None where it has none."""
        if place is None:
            return None
        for row, members in enumerate(self.members):
            if place in members:
                return row
        owner = place.rpartition(".")[0]
        for row, members in enumerate(self.members):
            if owner and owner in members:
                return row
        for row, members in enumerate(self.members):
            if place and any(member.startswith(place + ".") for member in members):
                return row
        return None


def layer_maps(trace: Trace) -> LayerMaps:
    """The maps of a run; without rows where no module was measured."""
    tables = {metric.name: table for metric in METRICS if (table := _SOURCES[metric.name](trace))}
    names = ordered_layers(trace, {name for table in tables.values() for name in table.names})
    steps = max(trace.steps, 1)
    width = -(-steps // MOST_COLUMNS)
    edges = np.append(np.arange(0, steps, width), steps).astype(np.int64)
    height = -(-len(names) // MOST_ROWS) if names else 1
    members = tuple(tuple(names[first : first + height]) for first in range(0, len(names), height))
    maps = tuple(
        _map(metric, tables[metric.name], names, height, edges) for metric in METRICS if tables.get(metric.name)
    )
    notes = []
    if width > 1:
        notes.append(f"Each column of the map stands for {width:,} steps")
    if height > 1:
        notes.append(f"each row for {height} layers that follow each other ({len(names):,} layers in all)")
    if notes:
        sentence = "; ".join(notes)
        notes = [
            f"{sentence[0].upper()}{sentence[1:]}. A cell shows the value furthest from the ordinary one, of shares "
            "the largest; a number that is not finite is always shown."
        ]
    return LayerMaps(
        tuple(_label(group) for group in members),
        members,
        edges,
        maps,
        tuple(metric for metric in METRICS if not tables.get(metric.name)),
        tuple(notes),
    )


def ordered_layers(trace: Trace, wanted: set[str]) -> list[str]:
    """The layers in the order in which data passes them; places are numbered in the order of calls."""
    flow = Flow(Run(trace))
    order = {place.name: place.identifier for place in trace.places if place.kind == "module"}
    return sorted(wanted, key=lambda name: (flow.position(name), order.get(name, len(order)), name))


def _label(group: Sequence[str]) -> str:
    shown = [name or "the model" for name in group]
    return shown[0] if len(shown) == 1 else f"{shown[0]} … {shown[-1]} ({len(shown)} layers)"


@dataclass(frozen=True)
class _Table:
    """One metric as measured: a row per observation, a column per layer."""

    steps: IntArray
    values: FloatArray
    names: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.values.size > 0


def _map(metric: Metric, table: _Table, names: Sequence[str], height: int, edges: IntArray) -> LayerMap:
    columns = len(edges) - 1
    places = {name: position for position, name in enumerate(table.names)}
    picked = [places.get(name) for name in names]
    usual = _usual(table.values) if metric.scale == "log10" else 0.0
    by_time = np.full((columns, len(table.names)), np.nan)
    starts = np.searchsorted(table.steps, edges)
    for column in range(columns):
        part = table.values[starts[column] : starts[column + 1]]
        if len(part):
            by_time[column] = _most_unusual(part, usual)
    rows = -(-len(names) // height)
    cells = np.full((rows, columns), np.nan)
    for row in range(rows):
        members = [place for place in picked[row * height : (row + 1) * height] if place is not None]
        if members:
            cells[row] = _most_unusual(by_time[:, members].T, usual)
    return LayerMap(metric, cells, np.diff(starts) > 0)


def _usual(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if finite.size else 0.0


def _most_unusual(values: FloatArray, usual: float) -> FloatArray:
    """Per column the value furthest from the usual one; +inf before −inf before all numbers before NaN."""
    if len(values) == 1:
        only: FloatArray = values[0]
        return only
    distance = np.abs(values - usual)
    distance = np.where(np.isnan(values), -1.0, distance)
    distance = np.where(np.isneginf(values), np.finfo(float).max, distance)
    best = np.argmax(distance, axis=0)
    found: FloatArray = np.take_along_axis(values, best[None], axis=0)[0]
    return found


def _log10(values: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = np.where(np.isinf(values), np.inf, np.log10(np.abs(values)))
    return found


def _gradient(trace: Trace) -> _Table | None:
    series = trace.series("module.output_gradient_norm")
    if series:
        return _Table(series.steps, _log10(series.values), series.names)
    return _of_owners(trace.series("parameter.gradient_norm"))


def _gain(trace: Trace) -> _Table | None:
    series = trace.series("module.output_gradient_norm")
    column = {name: index for index, name in enumerate(series.names)}
    reads: dict[str, list[int]] = {}
    for edge in trace.flow:
        if edge.source in column and edge.target in column and edge.source != edge.target:
            reads.setdefault(edge.target, []).append(column[edge.source])
    if not reads:
        return None
    logs = _log10(series.values)
    names = tuple(reads)
    gains = np.full((len(series.steps), len(names)), np.nan)
    for index, name in enumerate(names):
        own = logs[:, column[name]]
        before = np.fmax.reduce(logs[:, reads[name]], axis=1)
        with np.errstate(invalid="ignore"):
            difference = before - own
        # 0 over 0 and infinity over infinity say nothing.
        gains[:, index] = np.where(np.isposinf(own), np.nan, difference)
    return _Table(series.steps, gains, names)


def _activation(quantity: str) -> Callable[[Trace], _Table | None]:
    def read(trace: Trace) -> _Table | None:
        series = trace.series(quantity)
        if not series:
            return None
        names = [str(place.details.get("module") or place.name.rpartition(":")[0]) for place in series.places]
        groups = _grouped(names)
        values = np.full((len(series.steps), len(groups)), np.nan)
        for index, columns in enumerate(groups.values()):
            values[:, index] = np.fmax.reduce(series.values[:, columns], axis=1)
        return _Table(series.steps, values, tuple(groups))

    return read


def _update(trace: Trace) -> _Table | None:
    moved, weights = trace.series("parameter.update_norm"), trace.series("parameter.weight_norm")
    if not moved or not weights:
        return None
    table, base = _of_owners(moved), _of_owners(weights)
    if table is None or base is None:
        return None
    kept = [name for name in table.names if name in base.names]
    rows = np.searchsorted(base.steps, table.steps, side="right") - 1
    known = rows >= 0
    own = [table.names.index(name) for name in kept]
    other = [base.names.index(name) for name in kept]
    with np.errstate(invalid="ignore"):
        ratio = table.values[known][:, own] - base.values[rows[known]][:, other]
    # Weights of zero (a bias at its start) have no ratio; what is not finite stays so.
    ratio = np.where(np.isneginf(base.values[rows[known]][:, other]), np.nan, ratio)
    ratio = np.where(np.isposinf(table.values[known][:, own]), np.inf, ratio)
    return _Table(table.steps[known], ratio, tuple(kept))


def _of_owners(series: Series) -> _Table | None:
    """log10 of the norm over all parameters of each module."""
    if not series:
        return None
    groups = _grouped([place.name.rpartition(".")[0] for place in series.places])
    values = np.full((len(series.steps), len(groups)), np.nan)
    for index, columns in enumerate(groups.values()):
        part = series.values[:, columns]
        with np.errstate(over="ignore"):
            total = np.sqrt(np.nansum(np.square(part), axis=1))
        values[:, index] = np.where(np.isnan(part).all(axis=1), np.nan, total)
    return _Table(series.steps, _log10(values), tuple(groups))


def _grouped(names: Sequence[str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        groups.setdefault(name, []).append(index)
    return groups


_SOURCES: Mapping[str, Callable[[Trace], _Table | None]] = {
    "gradient": _gradient,
    "gain": _gain,
    "dead": _activation("activation.dead_units"),
    "saturated": _activation("activation.saturated_share"),
    "update": _update,
}
