"""A curve drawn with braille dots, two by four to a character: for terminals that can draw nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence

from neuraldbg.report.text import number

#: Bit of each dot of a braille character: first the column, then the row from the top.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
#: A stretch that holds a value which is not finite, and one in which an event begins.
NOT_FINITE, EVENT = "×", "▲"
#: Positive values that span more than this are drawn on a logarithmic scale.
_LOGARITHMIC = 100.0


def braille(
    steps: Sequence[int], values: Sequence[float], width: int, height: int, marks: Sequence[int] = ()
) -> list[str]:
    """The chart as ``height`` lines of at most ``width`` characters; the lowest has the steps and the event marks.

    ``steps`` rise, and ``values`` has one value for each. ``marks`` are the steps of events. Between neighbouring
    columns the dots are joined, so that no jump is lost; a column shows the lowest and the highest of its values.
    """
    if not len(values) or width < 4 or height < 2:
        return []
    finite = [value for value in values if math.isfinite(value)]
    logarithmic = bool(finite) and min(finite) > 0 and max(finite) > _LOGARITHMIC * min(finite)
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    labels = (number(float(high)), number(float(low))) if finite else ("", "")
    gutter = min(max(map(len, labels)) + 1, max(width - 4, 0))
    columns, rows = width - gutter, height - 1
    spans, broken = _columns(steps, values, columns * 2, _scale(low, high, logarithmic, rows * 4))
    cells = [[0] * columns for _ in range(rows)]
    before: tuple[int, int] | None = None
    for column, span in enumerate(spans):
        if span is None:
            before = None
            continue
        bottom, top = span
        if before is not None:
            bottom, top = min(bottom, before[1]), max(top, before[0])
        before = span
        for dot in range(bottom, top + 1):
            row = rows * 4 - 1 - dot
            cells[row // 4][column // 2] |= _DOTS[column % 2][row % 4]
    lines = []
    for row, cell in enumerate(cells):
        label = labels[0] if row == 0 else labels[1] if row == rows - 1 else ""
        drawn = "".join(
            NOT_FINITE if row == 0 and at in broken else chr(0x2800 + bits) if bits else " "
            for at, bits in enumerate(cell)
        )
        lines.append(f"{label:>{gutter - 1}} {drawn}".rstrip())
    return [*lines, " " * gutter + _axis(steps, columns, marks)]


def _scale(low: float, high: float, logarithmic: bool, dots: int) -> tuple[float, float, bool, int]:
    return (math.log10(low), math.log10(high), True, dots) if logarithmic else (low, high, False, dots)


def _columns(
    steps: Sequence[int], values: Sequence[float], columns: int, scale: tuple[float, float, bool, int]
) -> tuple[list[tuple[int, int] | None], set[int]]:
    """Lowest and highest dot of each column, and the characters in which a value is not finite."""
    low, high, logarithmic, dots = scale
    span = high / 2 - low / 2  # halved, so that the range of almost all floats does not overflow
    found: list[tuple[int, int] | None] = [None] * columns
    broken = set()
    for step, value in zip(steps, values):
        column = _column(step, steps, columns)
        if not math.isfinite(value):
            broken.add(column // 2)
            continue
        share = ((math.log10(value) if logarithmic else value) / 2 - low / 2) / span if span > 0 else 0.5
        dot = min(dots - 1, max(0, round(share * (dots - 1))))
        old = found[column]
        found[column] = (dot, dot) if old is None else (min(old[0], dot), max(old[1], dot))
    # Few steps leave columns empty: the curve goes on level until the next.
    last: tuple[int, int] | None = None
    for column, span_of in enumerate(found):
        if span_of is None and last is not None and column // 2 not in broken:
            found[column] = (last[1], last[1]) if last[0] == last[1] else last
        elif span_of is not None:
            last = span_of
        else:
            last = None
    return found, broken


def _column(step: int, steps: Sequence[int], columns: int) -> int:
    first, last = steps[0], steps[-1]
    return 0 if last <= first else min(columns - 1, max(0, (step - first) * columns // (last - first + 1)))


def _axis(steps: Sequence[int], width: int, marks: Sequence[int]) -> str:
    """First and last step at the ends, and a mark where events begin."""
    line = [" "] * width
    first, last = f"{steps[0]:,}", f"{steps[-1]:,}"
    if len(first) + len(last) + 3 <= width:
        line[: len(first)] = first
        line[width - len(last) :] = last
    for step in marks:
        if steps[0] <= step <= steps[-1]:
            line[_column(step, steps, width)] = EVENT
    return "".join(line).rstrip()
