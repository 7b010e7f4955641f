"""Everything that was measured as one long table: a row per number."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from neuraldbg.errors import UsageError
from neuraldbg.records import Trace

COLUMNS = ("step", "quantity", "kind", "place", "value")
#: Rows that are written at a time.
_PIECE = 200_000


def rows(trace: Trace) -> Iterator[tuple[int, str, str, str, float]]:
    """(step, quantity, kind of place, place, value), by quantity, then step; what was not measured has no row."""
    for quantity in trace.quantities:
        series = trace.series(quantity)
        for row, step in enumerate(series.steps.tolist()):
            for column in np.flatnonzero(~np.isnan(series.values[row])).tolist():
                place = series.places[column]
                yield step, quantity, place.kind, place.name, float(series.values[row, column])


def write_csv(trace: Trace, stream: IO[str]) -> None:
    """The table as CSV with a head line. A name that a spreadsheet would take for a formula gets a quote before it."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for step, quantity, kind, place, value in rows(trace):
        writer.writerow((step, quantity, kind, _harmless(place), repr(value)))


def _harmless(name: str) -> str:
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def write_parquet(trace: Trace, target: Path) -> None:
    """The table as a Parquet file, quantities and places as dictionaries.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError("Parquet needs pyarrow, which is not installed: pip install 'neuraldbg[parquet]'") from error
    word = arrow.dictionary(arrow.int32(), arrow.string())
    types = (arrow.int64(), word, word, word, arrow.float64())
    schema = arrow.schema(list(zip(COLUMNS, types)))
    with parquet.ParquetWriter(target, schema) as writer:
        piece: list[tuple[int, str, str, str, float]] = []
        for row in rows(trace):
            piece.append(row)
            if len(piece) >= _PIECE:
                writer.write_table(_table(arrow, piece, schema))
                piece.clear()
        if piece:
            writer.write_table(_table(arrow, piece, schema))


def _table(arrow: Any, piece: list[tuple[int, str, str, str, float]], schema: Any) -> Any:
    columns = list(zip(*piece))
    words = [arrow.array(columns[index]).dictionary_encode() for index in (1, 2, 3)]
    arrays = [arrow.array(columns[0], arrow.int64()), *words, arrow.array(columns[4], arrow.float64())]
    return arrow.Table.from_arrays(arrays, schema=schema)
