"""Short forms for answers."""

from __future__ import annotations

import inspect
from typing import Any

from neuraldbg.records import Finding


def _caller() -> str:
    frame = inspect.currentframe()
    caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
    return caller.f_code.co_name if caller is not None else "?"


def absent() -> Finding:
    """The question was answered with no."""
    return Finding(_caller(), False)


def unmeasured() -> Finding:
    """What the question needs was not measured."""
    return Finding(_caller(), None)


def present(
    sentence: str,
    *,
    step: int | None = 0,
    layer: str | None = None,
    parameter: str | None = None,
    source: str | None = None,
    **numbers: Any,
) -> Finding:
    """The question was answered with yes."""
    kept = {key: float(value) for key, value in numbers.items()}
    return Finding(_caller(), True, sentence, kept, layer, parameter, None if step is None else int(step), source)


def when(condition: bool, sentence: str, **kwargs: Any) -> Finding:
    """Yes with a sentence if the condition holds, else no."""
    name = _caller()
    if not condition:
        return Finding(name, False)
    step = kwargs.pop("step", 0)
    layer, parameter, source = kwargs.pop("layer", None), kwargs.pop("parameter", None), kwargs.pop("source", None)
    numbers = {key: float(value) for key, value in kwargs.items()}
    return Finding(name, True, sentence, numbers, layer, parameter, None if step is None else int(step), source)
