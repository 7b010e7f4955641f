"""How a detector says what it saw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from neuraldbg.records import STATES, Place, SemanticEvent

FloatArray = npt.NDArray[np.float64]


def saw(
    event_type: str,
    state: str,
    steps: tuple[int, int],
    sentence: str,
    *,
    layer: str | None = None,
    parameter: str | None = None,
    subject: str | None = None,
    findings: tuple[str, ...] = (),
    confidence: float = 0.9,
    numbers: Mapping[str, float] | None = None,
    **measured: Any,
) -> SemanticEvent:
    """An event, from the ordinary state of its type to ``state``.

    Args:
        sentence: plain words with the measured numbers, no capital letter, no full stop, no step at its end.
        subject: what it is about where no layer is (a word of measures/subjects.py).
        findings: names of the questions of causes/_findings that the event answers with yes.
        numbers, measured: the numbers in the sentence; None is left out.
    """
    metadata: dict[str, Any] = dict(numbers or {})
    metadata.update((name, number) for name, number in measured.items() if number is not None)
    metadata["sentence"] = sentence
    metadata["findings"] = findings
    if subject is not None:
        metadata["subject"] = subject
    first, last = int(steps[0]), int(steps[1])
    known = STATES[event_type]
    if state not in known:
        raise ValueError(f"{event_type} expects one of the states {', '.join(known)}; found {state!r}")
    return SemanticEvent(
        event_type,
        layer,
        parameter,
        known[0],
        state,
        (first, max(first, last)),
        round(min(1.0, max(0.0, confidence)), 3),
        metadata,
    )


def beyond(value: float, bound: float) -> float:
    """Confidence of a number that must exceed a bound: 0.5 at the bound, 0.84 at ten times it, towards 1."""
    if not value > 0 or not bound > 0 or math.isnan(value):
        return 0.5
    ratio = value / bound if math.isfinite(value) else math.inf
    return 1.0 - 0.5 / math.sqrt(max(1.0, ratio))


def below(value: float, bound: float) -> float:
    """Confidence of a number that must stay below a bound, as ``beyond``."""
    return 1.0 if value <= 0 else beyond(bound / value, 1.0)


def times(factor: float) -> str:
    """A factor in words: "14 times", "1.2e+06 times"; an infinite one is "infinitely many times"."""
    return "infinitely many times" if not math.isfinite(factor) else f"{factor:.3g} times"


def layer_of(place: Place) -> str | None:
    """The module that an activation belongs to: the one that feeds it, else the one that computes it."""
    producer, module = place.details.get("producer"), place.details.get("module")
    chosen = producer if producer is not None else module
    return str(chosen) if chosen is not None else None


def named(layer: str | None) -> str:
    """A module path as it stands in a sentence."""
    return f"'{layer}'" if layer else "the model"


def several(names: list[str], shown: int = 2) -> str:
    """Names in a sentence: "'a', 'b' and 4 more"."""
    quoted = [f"'{name}'" for name in names[:shown]]
    if len(names) > shown:
        return f"{', '.join(quoted)} and {len(names) - shown} more"
    return " and ".join(quoted)
