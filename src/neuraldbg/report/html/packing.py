"""Numbers and text on their way into a page: small, and unable to end the element that holds them."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

#: Codes of a packed number; all others lie on a linear scale.
NOT_MEASURED, NOT_FINITE, ZERO = 65535, 65534, 65533
HIGHEST = 65000


def pack(values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Base64 of little-endian 16-bit numbers: ``low + code * step``; the codes above HIGHEST are not numbers.

    NaN becomes NOT_MEASURED, +inf NOT_FINITE, −inf ZERO (a measured zero on a logarithmic scale).
    """
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    step = (high / HIGHEST - low / HIGHEST) or 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        codes = np.round((values - low) / step)
    codes = np.where(np.isfinite(values), np.clip(np.nan_to_num(codes), 0, HIGHEST), NOT_MEASURED)
    codes = np.where(np.isposinf(values), NOT_FINITE, codes)
    codes = np.where(np.isneginf(values), ZERO, codes)
    text = base64.b64encode(codes.astype("<u2").tobytes()).decode("ascii")
    return {"low": low, "step": step, "high": high, "codes": text}


def numbers(values: npt.NDArray[np.float64], digits: int = 5) -> list[float | None]:
    """The values rounded to significant digits, None for what is not finite."""
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in values.tolist()]


def as_json(data: Any) -> str:
    """JSON that may stand inside a ``script`` element: it holds no ``<``, ``>`` or ``&``."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
