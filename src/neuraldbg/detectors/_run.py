"""Runs every detector of the folder and compresses what they saw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from types import ModuleType

from neuraldbg.detectors._compress import compress
from neuraldbg.measures.run import Run
from neuraldbg.records import SemanticEvent
from neuraldbg.registry import find_rules


@cache
def detectors() -> Mapping[str, ModuleType]:
    """Every detector by name."""
    return find_rules("neuraldbg.detectors", {"detect": Callable, "NEEDS": tuple})  # type: ignore[dict-item]


def detect_events(run: Run) -> tuple[tuple[SemanticEvent, ...], tuple[str, ...]]:
    """The events of a run, earliest first, and one line for each detector that failed."""
    found: list[SemanticEvent] = []
    notes: list[str] = []
    for name, rule in detectors().items():
        try:
            seen = [replace(event, metadata={**event.metadata, "detector": name}) for event in rule.detect(run)]
        except Exception as error:
            notes.append(f"detector {name} failed: {type(error).__name__}: {error}")
            continue
        found.extend(seen)
    return compress(found, run), tuple(notes)
