"""The faults: one injector per cause, in small groups by file, found by scanning this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from bench.faultbench.injectors._base import REGISTRY, Injector

#: Causes of the vocabulary without an injector, and why.
LEFT_OUT = {"rank_divergence": "needs several processes"}


@cache
def load() -> dict[str, Injector]:
    """Injectors by cause."""
    for entry in sorted(pkgutil.iter_modules(__path__), key=lambda entry: entry.name):
        if not entry.name.startswith("_"):
            importlib.import_module(f"{__name__}.{entry.name}")
    return dict(sorted(REGISTRY.items()))
