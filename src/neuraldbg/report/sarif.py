"""The verdict as SARIF 2.1.0, so that a code host shows it beside the line of source that it points at."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from neuraldbg.records import CausalHypothesis, Diagnosis
from neuraldbg.report.text import clean

#: A cause this likely is an error; below it is a warning.
CERTAIN = 0.5
_POSITION = re.compile(r"^(?P<path>.*?):(?P<line>\d+)(?::\d+)?(?:\s|$)")


def to_sarif(diagnosis: Diagnosis) -> str:
    """One run with a result per hypothesis that is shown; none where nothing failed."""
    rules = [
        {
            "id": clean(cause),
            "shortDescription": {"text": clean(hypothesis.title or cause)},
            "help": {"text": clean(hypothesis.remedy or hypothesis.title or cause)},
        }
        for cause, hypothesis in {h.cause: h for h in reversed(diagnosis.hypotheses)}.items()
    ]
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "NeuralDBG", "rules": sorted(rules, key=lambda rule: str(rule["id"]))}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(hypothesis, diagnosis) for hypothesis in diagnosis.hypotheses],
            }
        ],
    }
    return json.dumps(log, indent=2)


def _result(hypothesis: CausalHypothesis, diagnosis: Diagnosis) -> dict[str, Any]:
    sentences = [diagnosis.symptom.sentence if diagnosis.symptom else diagnosis.summary]
    sentences += [
        f"{hypothesis.title or hypothesis.cause} (confidence {hypothesis.confidence:.2f}).",
        hypothesis.explanation,
    ]
    sentences += [hypothesis.remedy]
    result: dict[str, Any] = {
        "ruleId": clean(hypothesis.cause),
        "level": "error" if hypothesis.confidence >= CERTAIN else "warning",
        "message": {"text": " ".join(clean(sentence) for sentence in sentences if sentence)},
        "rank": round(100 * hypothesis.confidence, 1),
    }
    location = _location(hypothesis, diagnosis.meta)
    if location:
        result["locations"] = [location]
    return result


def _location(hypothesis: CausalHypothesis, meta: Mapping[str, Any]) -> dict[str, Any]:
    location: dict[str, Any] = {}
    match = _POSITION.match(hypothesis.source or "")
    # Without a line of its own, a verdict stands at the top of the script.
    path, line = (match["path"], int(match["line"])) if match else (str(meta.get("script") or ""), 1)
    if path.endswith(".py"):
        folder = str(meta.get("folder") or "")
        pure = PurePath(path)
        if pure.is_absolute() and folder and pure.is_relative_to(folder):
            pure = pure.relative_to(folder)
        address = pure.as_uri() if pure.is_absolute() else quote(pure.as_posix())
        location["physicalLocation"] = {"artifactLocation": {"uri": address}, "region": {"startLine": max(line, 1)}}
    place = hypothesis.parameter or hypothesis.layer
    if place:
        kind = "member" if hypothesis.parameter else "module"
        location["logicalLocations"] = [{"fullyQualifiedName": clean(place), "kind": kind}]
    return location
