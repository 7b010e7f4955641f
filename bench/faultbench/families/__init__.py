"""The families of models: one file each, found by scanning this folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from bench.faultbench.recipe import Recipe


@cache
def load() -> tuple[dict[str, Callable[[int], Recipe]], dict[str, str]]:
    """Families by name, and the reason for each that cannot be built here (a missing library)."""
    found: dict[str, Callable[[int], Recipe]] = {}
    missing: dict[str, str] = {}
    for entry in sorted(pkgutil.iter_modules(__path__), key=lambda entry: entry.name):
        if entry.name.startswith("_"):
            continue
        try:
            module = importlib.import_module(f"{__name__}.{entry.name}")
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("bench"):
                raise
            missing[entry.name] = f"needs {error.name}, which is not installed"
            continue
        found[entry.name] = module.make
    return found, missing


def names() -> list[str]:
    return list(load()[0])


def make(family: str, seed: int) -> Recipe:
    """The healthy recipe of a family; a family and a seed give the same one in every process."""
    return load()[0][family](seed)
