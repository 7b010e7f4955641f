"""Stretches of time in which something holds, and the level of a series before a point."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Observed rows of the opposite that do not end a stretch: one noisy batch is no recovery.
BRIDGED_ROWS = 2

#: Values up to which sorting them in Python is quicker than in numpy.
_FEW = 64

#: Rows whose windows are sorted together: bounds the memory that a long run takes.
_CHUNK = 65_536


def finite(values: FloatArray) -> FloatArray:
    """The values without NaN and infinities, in their order; shape (finite rows,)."""
    kept: FloatArray = values[np.isfinite(values)]
    return kept


def stretches(flags: BoolArray, at_least: int = 1, bridge: int = BRIDGED_ROWS) -> list[tuple[int, int]]:
    """First and last row of every stretch of true flags.

    Args:
        flags: shape (rows,).
        at_least: true rows that a stretch needs.
        bridge: false rows inside a stretch that do not end it.
    """
    rows = flags.nonzero()[0]
    if not rows.size:
        return []
    if rows[-1] - rows[0] < rows.size + bridge:  # the usual case: too few false ones in between to part it
        return [(int(rows[0]), int(rows[-1]))] if rows.size >= at_least else []
    found = []
    for part in np.split(rows, np.flatnonzero(np.diff(rows) > bridge + 1) + 1):
        if part.size >= at_least:
            found.append((int(part[0]), int(part[-1])))
    return found


def median(values: FloatArray) -> float:
    """As ``np.median``, many times quicker for a few values; NaN where one of them is, or there is none."""
    if values.size > _FEW:
        return float(np.median(values))
    ordered = sorted(values.tolist())
    if not ordered or any(value != value for value in ordered):
        return math.nan
    half = len(ordered) // 2
    return float(ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def level_before(values: FloatArray, width: int = 20, at_least: int = 5) -> FloatArray:
    """Median of the finite values among the ``width`` rows before each row; NaN where fewer than ``at_least`` are.

    Shape (rows,).
    """
    out = np.full(values.shape, np.nan)
    padded = np.concatenate([np.full(width, np.inf), np.where(np.isfinite(values), values, np.inf)])
    for start in range(0, values.size, _CHUNK):
        rows = min(_CHUNK, values.size - start)
        # Sorted, what is not finite comes last, so that the median is between two known columns.
        ordered = np.sort(np.lib.stride_tricks.sliding_window_view(padded[start : start + rows + width - 1], width))
        count = np.isfinite(ordered).sum(axis=1)
        row = np.arange(rows)
        middle = (ordered[row, np.maximum(count - 1, 0) // 2] + ordered[row, np.minimum(count // 2, width - 1)]) / 2
        out[start : start + rows] = np.where(count >= at_least, middle, np.nan)
    return out


def running_median(values: FloatArray, width: int = 3) -> FloatArray:
    """Median over ``width`` rows around each row (fewer at the ends); +inf where most of them are not finite."""
    half = width // 2
    if values.size == 0 or half == 0:
        return values
    padded = np.concatenate([np.repeat(values[:1], half), values, np.repeat(values[-1:], half)])
    if half == 1:
        low, middle, high = padded[:-2], padded[1:-1], padded[2:]
        of_three: FloatArray = np.maximum(np.minimum(low, middle), np.minimum(np.maximum(low, middle), high))
        return of_three
    out: FloatArray = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1)
    return out
