"""Named questions asked of a run, one subject per file. Each answers present, absent, or not measured.

A finding is a public function of one ``Run`` in one of these files; its name is the finding's name. Causes refer to
findings by name; nothing else needs to be edited to add one.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module

from neuraldbg.measures.run import Run
from neuraldbg.records import Finding

Question = Callable[[Run], Finding]


@cache
def questions() -> dict[str, Question]:
    """Every finding by name, in the order of names: which file one is in makes no difference."""
    found: dict[str, Question] = {}
    for info in pkgutil.iter_modules(__path__):
        if info.name.startswith("_"):
            continue
        module = import_module(f"{__name__}.{info.name}")
        for name, function in vars(module).items():
            if name.startswith("_") or not inspect.isfunction(function) or function.__module__ != module.__name__:
                continue
            found[name] = function
    return dict(sorted(found.items()))


def ask(run: Run) -> tuple[dict[str, Finding], list[str]]:
    """The answers by name, and one line for each question that failed."""
    answers: dict[str, Finding] = {}
    failures: list[str] = []
    for name, question in questions().items():
        try:
            answers[name] = question(run)
        except Exception as error:
            answers[name] = Finding(name, None)
            failures.append(f"finding {name} failed: {type(error).__name__}: {error}")
    return answers, failures
