"""Functions of torch that a program holds where no module names them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from torch.overrides import TorchFunctionMode


class Elsewhere(TorchFunctionMode):
    """Replaces functions of torch that are called by a reference that no module holds."""

    def __init__(self) -> None:
        super().__init__()
        self._replacements: dict[Any, Callable[..., Any]] = {}
        self._originals: dict[Any, Any] = {}
        #: Replacements that are running: what they call is the original.
        self._running = 0

    def add(self, original: Any, replacement: Callable[..., Any]) -> Callable[..., Any]:
        """Have calls of ``original`` go to ``replacement``; returns what is to stand in its place."""

        def stand_in(*arguments: Any, **keywords: Any) -> Any:
            self._running += 1
            try:
                return replacement(*arguments, **keywords)
            finally:
                self._running -= 1

        with contextlib.suppress(TypeError):  # not hashable: reached by its name only
            self._replacements[original] = stand_in
        self._originals[stand_in] = original
        return stand_in

    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        if self._running:
            # A function of torch hands itself on by its name, under which the stand-in is found now.
            function = self._originals.get(function, function)
        else:
            function = self._replacements.get(function, function)
        return function(*arguments, **(keywords or {}))
