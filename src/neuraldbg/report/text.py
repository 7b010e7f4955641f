"""Small helpers that make any string from a user's program safe and short enough to show."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence

#: Unicode categories that a terminal may act on instead of showing: control, format (bidirectional overrides, zero
#: width), surrogates, private use, line and paragraph separators.
_ACTING = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})

_BLOCKS = "▁▂▃▄▅▆▇█"
_NOT_FINITE = "×"


def clean(text: object) -> str:
    """The text on one line, with every character that a terminal might obey written out (``\\x1b``, ``\\u202e``)."""
    words = str(text).replace("\r\n", " ").replace("\n", " ").replace("\t", " ")
    return "".join(
        _spell(character) if unicodedata.category(character) in _ACTING else character for character in words
    )


def sentence_part(line: str) -> str:
    """A sentence as a part of another one: clean, without its full stop."""
    return clean(line).strip().rstrip(".")


def _spell(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def number(value: object) -> str:
    """A number in at most a few digits: 418, 1.61, 3.2e-06, NaN."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return clean(value)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**12 else f"{value:.3g}"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:.3g}"


def numbers(values: Mapping[str, float]) -> str:
    """``name=value`` pairs in the order of their names."""
    return ", ".join(f"{clean(name)}={number(values[name])}" for name in sorted(values))


def count(amount: int, noun: str) -> str:
    """``1 step``, ``2,000 steps``."""
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"


def sparkline(values: Sequence[float], width: int = 32) -> str:
    """The series as blocks, at most ``width`` of them; × where a value was not finite.

    Positive series that span more than two orders of magnitude are drawn on a logarithmic scale.
    """
    points = _thin([float(value) for value in values], max(width, 1))
    finite = [value for value in points if math.isfinite(value)]
    if finite and min(finite) > 0 and max(finite) > 100 * min(finite):
        points = [math.log10(value) if math.isfinite(value) else value for value in points]
        finite = [value for value in points if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    # Halved before the difference, so that a range of almost all floats does not overflow.
    span = high / 2 - low / 2
    if span <= 1e-12 * max(abs(low), abs(high)):  # the means of equal values differ by a rounding
        span = 0.0
    top = len(_BLOCKS) - 1
    marks = []
    for value in points:
        if not math.isfinite(value):
            marks.append(_NOT_FINITE)
        else:
            share = (value / 2 - low / 2) / span if span > 0 else 0.0
            marks.append(_BLOCKS[min(top, max(0, round(share * top)))])
    return "".join(marks)


def _thin(values: list[float], width: int) -> list[float]:
    """One value per bucket: the first that is not finite, else the mean, so that no NaN is averaged away."""
    if len(values) <= width:
        return values
    thinned = []
    for bucket in range(width):
        part = values[bucket * len(values) // width : (bucket + 1) * len(values) // width]
        broken = [value for value in part if not math.isfinite(value)]
        thinned.append(broken[0] if broken else sum(value / len(part) for value in part))
    return thinned
