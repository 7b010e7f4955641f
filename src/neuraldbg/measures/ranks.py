"""The traces of several processes, merged: norms of sharded parameters over all ranks, those of replicas once.

Each process measures the part that it holds. With the norms n_r that the ranks measured of a parameter of which each
part lies on ``copies`` ranks, the whole norm is sqrt(sum of n_r² / copies), for the parts share no element. A parameter
that is not sharded is the same on every rank, gradient included, after the all-reduce: one rank's norm is its norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from neuraldbg.records import Block, Fact, Trace

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Norms per parameter, which add up over parts as squares.
NORMS = ("parameter.gradient_norm", "parameter.weight_norm", "parameter.update_norm")
TOTAL = "gradient.norm"


def is_sharded(trace: Trace) -> bool:
    """Whether some parameter of this process is a part of a larger one."""
    return any(_parts(place.details) > 1 for place in trace.places if place.kind == "parameter")


def merged(traces: Sequence[Trace], own: int = 0) -> Trace:
    """One of the traces, with norms that hold for the whole model.

    Steps that not every rank observed are left out of the merged norms, and so are parameters of which a part has no
    trace: a norm that is too small would be worse than none. The total over all parameters is given where they have one
    optimizer. Everything that is not a norm of NORMS or TOTAL stays as the chosen rank saw it.

    Args:
        traces: one per rank, of one run.
        own: index of the trace that the rest is taken from.
    """
    chosen = traces[own]
    if not any(is_sharded(trace) for trace in traces):
        return chosen
    places = {place.name: place.identifier for place in chosen.places if place.kind == "parameter"}
    blocks: dict[str, list[Block]] = {}
    gradients: dict[str, tuple[IntArray, FloatArray]] = {}
    for quantity in NORMS:
        # A rank that holds no element of a parameter has measured nothing of it.
        names = {name: None for trace in (chosen, *traces) for name in trace.series(quantity).names if name in places}
        norms = {name: _whole(traces, own, quantity, name) for name in names}
        if quantity == NORMS[0]:
            gradients = {name: norm for name, norm in norms.items() if norm is not None}
            complete = len(gradients) == len(norms)
        blocks[quantity] = _block({places[name]: norm for name, norm in norms.items() if norm is not None})
    total = chosen.series(TOTAL).places
    blocks[TOTAL] = []
    if len(total) == 1 and complete:
        blocks[TOTAL] = _block({total[0].identifier: _total(traces, gradients)})
    return chosen.replacing(blocks)


def difference(fact: Fact) -> str:
    """In words, what the fact ``ranks.diverged`` says: which tensor of which ranks differs."""
    name, ranks = str(fact.data.get("parameter", "")), sorted(int(rank) for rank in fact.data.get("ranks", ()))
    if not ranks:
        return f"'{name}' differs between ranks"
    return f"'{name}' of rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))} differs from that of the others"


def _parts(details: Any) -> int:
    """On how many ranks different parts of a parameter lie."""
    shard = details.get("shard")
    return int(shard["ranks"]) // max(1, int(shard["copies"])) if shard else 1


def _block(columns: dict[int, tuple[IntArray, FloatArray]]) -> list[Block]:
    """Columns by place, each with its steps, as rows of all steps."""
    if not columns:
        return []
    identifiers = sorted(columns)
    steps = np.unique(np.concatenate([columns[identifier][0] for identifier in identifiers]))
    values = np.full((len(steps), len(identifiers)), np.nan)
    for index, identifier in enumerate(identifiers):
        values[np.searchsorted(steps, columns[identifier][0]), index] = columns[identifier][1]
    return [Block(steps, np.array(identifiers, np.int64), values)]


def _whole(traces: Sequence[Trace], own: int, quantity: str, name: str) -> tuple[IntArray, FloatArray] | None:
    """Steps and whole norms of one parameter; None where a part of it is missing."""
    place = traces[own].place("parameter", name)
    if place is None or _parts(place.details) == 1:
        return _by_step(traces[own], quantity, name)
    held = [(t, p) for t in traces if (p := t.place("parameter", name)) is not None and p.details.get("shard")]
    shard = place.details["shard"]
    if len(held) != int(shard["ranks"]):
        return None
    parts = [trace for trace, place in held if place.details["shard"].get("held", 1)]
    if not parts:
        return None
    columns = [_by_step(trace, quantity, name) for trace in parts]
    steps = columns[0][0]
    for other, _ in columns[1:]:
        steps = np.intersect1d(steps, other)
    squares = sum(values[np.isin(at, steps)] ** 2 for at, values in columns)
    return steps, np.sqrt(np.asarray(squares, np.float64) / int(shard["copies"]))


def _by_step(trace: Trace, quantity: str, name: str) -> tuple[IntArray, FloatArray]:
    """A parameter's series with one value per step, the last one."""
    for index, place in enumerate(trace.series(quantity).places):
        if place.kind == "parameter" and place.name == name:
            column = trace.series(quantity).values[:, index]
            seen = ~np.isnan(column)
            steps, values = trace.series(quantity).steps[seen], column[seen]
            last = np.append(steps[1:] != steps[:-1], True)[: len(steps)]
            return steps[last], values[last]
    return np.empty(0, np.int64), np.empty(0)


def _total(traces: Sequence[Trace], gradients: dict[str, tuple[IntArray, FloatArray]]) -> tuple[IntArray, FloatArray]:
    """Norm over all parameters that had a gradient in the optimizer's step, at steps at which all of them are known."""
    squares: dict[int, float] = {}
    missing: set[int] = set()
    for name in gradients:
        known = dict(zip(*(part.tolist() for part in gradients[name])))
        flagged = [found for trace in traces if len((found := _by_step(trace, "parameter.has_gradient", name))[0])]
        if not flagged:
            continue
        steps, flags = flagged[0]
        for step in steps[flags > 0].tolist():
            if step in known:
                squares[step] = squares.get(step, 0.0) + known[step] ** 2
            else:
                missing.add(step)
    kept = sorted(squares.keys() - missing)
    return np.array(kept, np.int64), np.sqrt(np.array([squares[step] for step in kept], np.float64))
