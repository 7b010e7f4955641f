"""Starts watching at the moment the script has imported torch, and not before.

Importing torch ahead of the script would be a change: settings such as ``OMP_NUM_THREADS`` are read while torch loads,
and a script may set them in its first lines. It would also make a script that never trains wait for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


class TorchArrival(MetaPathFinder):
    """An import hook that calls ``arrived`` once, right after torch was imported; ``remove`` takes it away."""

    def __init__(self, arrived: Callable[[], None]) -> None:
        self._arrived = arrived
        self._searching = False

    def install(self) -> None:
        """Calls at once where torch is imported already."""
        if "torch" in sys.modules:
            self._arrived()
        else:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, with a loader that reports the end of the import."""
        if fullname != "torch" or self._searching:
            return None
        self._searching = True
        try:
            spec = find_spec(fullname)
        finally:
            self._searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = _ReportingLoader(spec.loader, self._finished)
        return spec

    def _finished(self) -> None:
        self.remove()
        self._arrived()


class _ReportingLoader(Loader):
    """The real loader, which it puts back in its place, and a call afterwards."""

    def __init__(self, loader: Loader, finished: Callable[[], None]) -> None:
        self._loader = loader
        self._finished = finished

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._finished()
