"""Units that start equal, and weights that stay zero."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.depth import early, late
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.records import Finding


def _symmetry(run: Run, quantity: str) -> Mapping[str, np.ndarray]:
    series = run.series(quantity)
    return {name: series.values[:, i][~np.isnan(series.values[:, i])] for i, name in enumerate(series.names)}


def units_start_equal(run: Run) -> Finding:
    """The rows of a weight matrix are equal, or all zero, and stay so."""
    weights = _symmetry(run, "parameter.row_spread")
    columns = _symmetry(run, "parameter.column_spread")
    if not weights:
        return unmeasured()
    norms, gradients = early(run.trace, "parameter.weight_norm", 2), late(run.trace, "parameter.gradient_norm")
    shapes = {p.name: p.details.get("shape", []) for p in run.trace.places if p.kind == "parameter"}
    #: Owner and shape → a matrix that differs between its rows.
    apart = {
        (owner_of(name), tuple(shapes.get(name, []))): name
        for name, values in weights.items()
        if values.size and values[0] > 1e-2
    }
    equal = []
    for name, values in weights.items():
        if len(shapes.get(name, [])) < 2 or shapes[name][0] < 2 or not values.size:
            continue
        if apart.get((owner_of(name), tuple(shapes[name])), name) != name:
            # A spread beside a mean: the other one tells the units apart.
            continue
        if (
            norms.get(name, 1.0) == 0
            and late(run.trace, "parameter.weight_norm").get(name, 1.0) == 0
            and gradients.get(name, 1.0) == 0
        ):
            equal.append((name, "all zero, and so are its gradients"))
        elif norms.get(name, 0.0) > 0 and values[0] < 1e-4 and values[-1] < 1e-3:
            equal.append((name, "the same in every row, and stays so"))
        elif _stay_equal(columns.get(name)) and shapes[name][-1] > 1 and norms.get(name, 0.0) > 0:
            equal.append((name, "the same in every column, and stays so"))
    if not equal:
        return absent()
    order = {p.name: p.identifier for p in run.trace.places if p.kind == "module"}
    equal.sort(key=lambda item: order.get(owner_of(item[0]), 10**9))
    name, how = equal[0]
    return present(f"'{name}' is {how}", layer=owner_of(name), count=len(equal))


def _stay_equal(values: np.ndarray | None) -> bool:
    return values is not None and values.size > 0 and bool(values[0] < 1e-4 and values[-1] < 1e-3)


def zero_weights_block_gradient(run: Run) -> Finding:
    """Weights that are exactly zero at the start stay zero, because their gradient is zero."""
    series, gradients = run.series("parameter.weight_norm"), late(run.trace, "parameter.gradient_norm")
    if not series:
        return unmeasured()
    stuck = []
    for index, place in enumerate(series.places):
        column = series.values[:, index]
        column = column[~np.isnan(column)]
        if (
            len(place.details.get("shape", [])) >= 2
            and column.size > 3
            and column.max() == 0
            and gradients.get(place.name, 1.0) == 0
        ):
            stuck.append(place.name)
    return when(
        bool(stuck),
        f"'{stuck[0] if stuck else ''}' is zero, gets no gradient, and stays zero",
        layer=owner_of(stuck[0]) if stuck else None,
    )
