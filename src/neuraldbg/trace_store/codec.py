"""Records and loose data to JSON and back; never pickle."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from neuraldbg import records

#: Version of the JSON of a stored diagnosis; raised when a record changes so that old readers would misread it.
DIAGNOSIS_SCHEMA = 1

_RECORDS: dict[str, type[Any]] = {
    name: kind
    for name in records.__all__
    if isinstance(kind := getattr(records, name), type)
    and dataclasses.is_dataclass(kind)
    and name not in ("Block", "Series")
}
_RECORD, _TUPLE, _PAIRS = "$record", "$tuple", "$pairs"


def plain_json(value: Any) -> str:
    """JSON text of loose data (the content of a fact, details, settings); never raises.

    Tuples and sets become lists, keys strings, numbers and arrays of numpy and torch plain numbers and lists; what has
    no JSON form is kept as its text. NaN and the infinities are written as Python's json writes them.
    """
    try:
        return json.dumps(value, default=_plain)
    except (TypeError, ValueError, RecursionError):
        try:
            return json.dumps(_plain_tree(value, depth=0))
        except Exception as error:  # a __str__ or a mapping of the user's that fails
            return json.dumps({"unreadable": f"{type(error).__name__}"})


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if hasattr(value, "tolist"):
        return value.tolist()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    return str(value)


def _plain_tree(value: Any, depth: int) -> Any:
    """As plain_json, for what json refuses outright: keys that are no strings, cycles."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if depth > 50:
        return "..."
    if isinstance(value, Mapping):
        return {str(key): _plain_tree(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_tree(item, depth + 1) for item in value]
    return _plain_tree(_plain(value), depth + 1)


def encode_record(value: Any) -> str:
    """JSON text of a record; ``decode_record`` gives back an equal one, tuples and mappings inside it included."""
    return json.dumps(_tagged(value))


def decode_record(text: str) -> Any:
    """The record that ``encode_record`` wrote; fields that this version does not know are left out.

    Raises:
        ValueError, TypeError, KeyError: the text is not the JSON of a record.
    """
    return _untagged(json.loads(text))


def _tagged(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    name = type(value).__name__
    if _RECORDS.get(name) is type(value):
        fields = {item.name: _tagged(getattr(value, item.name)) for item in dataclasses.fields(value)}
        return {_RECORD: name, **fields}
    if isinstance(value, tuple):
        return {_TUPLE: [_tagged(item) for item in value]}
    if isinstance(value, list):
        return [_tagged(item) for item in value]
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: _tagged(item) for key, item in value.items()}
        return {_PAIRS: [[_tagged(key), _tagged(item)] for key, item in value.items()]}
    return _tagged(_plain(value))


def _untagged(value: Any) -> Any:
    if isinstance(value, list):
        return [_untagged(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _TUPLE in value:
        return tuple(_untagged(item) for item in value[_TUPLE])
    if _PAIRS in value:
        return {_untagged(key): _untagged(item) for key, item in value[_PAIRS]}
    if _RECORD in value:
        kind = _RECORDS[value[_RECORD]]
        known = {item.name for item in dataclasses.fields(kind)}
        return kind(**{key: _untagged(item) for key, item in value.items() if key in known})
    return {key: _untagged(item) for key, item in value.items()}
