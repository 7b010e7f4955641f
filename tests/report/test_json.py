"""The JSON follows its schema, always in the same order."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np

from neuraldbg.records import Diagnosis
from neuraldbg.report import SCHEMA_VERSION, schema, to_json

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def problems(value: Any, rule: dict[str, Any], root: dict[str, Any], at: str = "$") -> list[str]:
    """What the value violates; the part of JSON Schema that our schema uses, and an error for any other keyword."""
    known = {
        "$ref",
        "$schema",
        "$defs",
        "title",
        "description",
        "type",
        "required",
        "properties",
        "items",
        "enum",
        "const",
    }
    assert not set(rule) - known - {"anyOf", "additionalProperties", "minimum", "maximum", "minItems", "maxItems"}, rule
    found: list[str] = []
    if "$ref" in rule:
        found += problems(value, root["$defs"][rule["$ref"].removeprefix("#/$defs/")], root, at)
    if "type" in rule:
        names = [rule["type"]] if isinstance(rule["type"], str) else rule["type"]
        fits = any(isinstance(value, _TYPES[n]) and (n == "boolean" or not isinstance(value, bool)) for n in names)
        if not fits:
            return [f"{at}: {value!r} is not {names}"]
    if "const" in rule and value != rule["const"]:
        found.append(f"{at}: {value!r}")
    if "enum" in rule and value not in rule["enum"]:
        found.append(f"{at}: {value!r} is none of {rule['enum']}")
    if "anyOf" in rule and all(problems(value, part, root, at) for part in rule["anyOf"]):
        found.append(f"{at}: {value!r} fits no alternative")
    if ("minimum" in rule and value < rule["minimum"]) or ("maximum" in rule and value > rule["maximum"]):
        found.append(f"{at}: {value!r} is out of range")
    if isinstance(value, dict):
        found += [f"{at}: lacks {name}" for name in rule.get("required", ()) if name not in value]
        for name, item in value.items():
            part = rule.get("properties", {}).get(name, rule.get("additionalProperties", {}))
            found += problems(item, part, root, f"{at}.{name}")
    if isinstance(value, list):
        if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", math.inf):
            found.append(f"{at}: {len(value)} items")
        for index, item in enumerate(value):
            found += problems(item, rule.get("items", {}), root, f"{at}[{index}]")
    return found


def strict(text: str) -> Any:
    """Parses JSON without the NaN and Infinity that Python's parser would let pass."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def test_output_follows_the_schema(named: tuple[str, Diagnosis]) -> None:
    assert problems(strict(to_json(named[1])), schema(), schema()) == []


def test_the_validator_sees_violations(diagnoses: dict[str, Diagnosis]) -> None:
    value = strict(to_json(diagnoses["log_of_zero"]))
    value["hypotheses"][0]["confidence"] = 1.2
    value["events"][0]["event_type"] = "boredom"
    del value["links"][0]["lag"]
    value["symptom"]["step"] = "418"
    assert len(problems(value, schema(), schema())) >= 4


def test_every_field_of_the_record_is_documented(diagnoses: dict[str, Diagnosis]) -> None:
    value = strict(to_json(diagnoses["log_of_zero"]))
    assert set(value) == set(schema()["properties"]) == set(schema()["required"])
    for name, part in (("event", "events"), ("hypothesis", "hypotheses"), ("finding", "findings"), ("link", "links")):
        assert set(value[part][0]) == set(schema()["$defs"][name]["properties"])
    assert value["schema_version"] == SCHEMA_VERSION
    (verification,) = strict(to_json(diagnoses["close"]))["verifications"]
    assert set(verification) == set(schema()["$defs"]["verification"]["properties"])
    assert set(verification["verdicts"][0]) == set(schema()["$defs"]["verdict"]["properties"])


def test_not_finite_numbers_are_strings(diagnoses: dict[str, Diagnosis]) -> None:
    value = strict(to_json(diagnoses["log_of_zero"]))
    assert value["symptom"]["numbers"]["loss"] == "NaN"
    assert value["meta"]["infinite"] == "Infinity"


def test_order_does_not_depend_on_the_order_of_the_mappings(diagnoses: dict[str, Diagnosis]) -> None:
    first = diagnoses["log_of_zero"]
    turned = dataclasses.replace(first, meta=dict(reversed(list(first.meta.items()))))
    assert to_json(turned) == to_json(first)


def test_values_of_other_kinds_become_json(diagnoses: dict[str, Diagnosis]) -> None:
    meta = {
        "array": np.array([1.0, np.nan]),
        "scalar": np.float32(0.5),
        "integer": np.int64(3),
        "flag": np.bool_(True),
        "names": {"b", "a"},
        "other": 1j,
        "event": diagnoses["log_of_zero"].events[1],
        7: None,
        "lone": "\ud800\x1b",
    }
    text = to_json(dataclasses.replace(diagnoses["healthy"], meta=meta))
    value = strict(text)["meta"]
    assert value["array"] == [1.0, "NaN"] and value["scalar"] == 0.5 and value["integer"] == 3 and value["flag"] is True
    assert value["names"] == ["a", "b"] and value["other"] == "1j" and value["7"] is None
    assert value["event"]["metadata"]["last"] == "NaN"
    assert text.isascii() and "\x1b" not in text
