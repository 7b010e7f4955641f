"""The diagnosis as JSON: versioned, documented by ``diagnosis.schema.json``, in an order that never varies.

JSON has no NaN and no infinity: they are the strings "NaN", "Infinity" and "-Infinity". The text is ASCII, so that a
name from the user's model cannot act on a terminal. Within one ``schema_version`` fields are added, never changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from neuraldbg.records import Diagnosis

#: Raised when a field changes its meaning or goes.
SCHEMA_VERSION = 1


def to_json(diagnosis: Diagnosis, *, trace: str | None = None, indent: int | None = 2) -> str:
    """One JSON object, without a newline at its end; ``trace`` is the path of the file that it was read from."""
    return json.dumps(as_dict(diagnosis, trace=trace), indent=indent, allow_nan=False)


def as_dict(diagnosis: Diagnosis, *, trace: str | None = None) -> dict[str, Any]:
    """What ``to_json`` writes, as plain dictionaries, lists, strings, numbers, booleans and None."""
    out: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "trace": trace}
    out.update(_plain(diagnosis))
    return out


@lru_cache(maxsize=1)
def _schema_text() -> str:
    return resources.files("neuraldbg.report").joinpath("diagnosis.schema.json").read_text("utf-8")


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) that the output follows."""
    loaded: dict[str, Any] = json.loads(_schema_text())
    return loaded


def _plain(value: Any) -> Any:
    """Records become objects in the order of their fields, mappings are sorted, the rest becomes what JSON has."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _number(float(value))
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Set):
        return sorted((_plain(item) for item in value), key=str)
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return _plain(value.tolist())
    return str(value)


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
