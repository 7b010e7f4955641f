"""Named questions asked of a run, one subject per file. Each answers present, absent, or not measured.

A finding is a public function of one ``Run`` in one of these files; its name is the finding's name. Causes refer to
findings by name; nothing else needs to be edited to add one.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module

from neuraldbg.measures.run import Run
from neuraldbg.records import Finding

Question = Callable[[Run], Finding]


@cache
def questions() -> dict[str, Question]:
    """Every finding by name, in the order of subjects (folder, or file beside the folders) and names."""
    found: list[tuple[str, str, Question]] = []
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        subject, *inner = info.name.removeprefix(f"{__name__}.").split(".")
        if any(part.startswith("_") for part in (subject, *inner)):
            continue
        module = import_module(info.name)
        for name, function in vars(module).items():
            if name.startswith("_") or not inspect.isfunction(function) or function.__module__ != module.__name__:
                continue
            # What files share with each other takes more than a run.
            if len(inspect.signature(function).parameters) == 1:
                found.append((subject, name, function))
    return {name: function for _, name, function in sorted(found, key=lambda entry: entry[:2])}


def ask(run: Run) -> tuple[dict[str, Finding], list[str]]:
    """The answers by name, and one line for each question that failed."""
    answers: dict[str, Finding] = {}
    failures: list[str] = []
    for name, question in questions().items():
        try:
            answer = question(run)
            # A part of a question may have given the answer under its own name.
            answers[name] = answer if answer.name == name else replace(answer, name=name)
        except Exception as error:
            answers[name] = Finding(name, None)
            failures.append(f"finding {name} failed: {type(error).__name__}: {error}")
    return answers, failures
