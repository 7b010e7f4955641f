"""Paths and places of modules: by identity, for models that come and go, and for modules that nobody registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from neuraldbg.observe import discovery
from neuraldbg.observe.watched import Watched, details_of, kind_of

if TYPE_CHECKING:
    from neuraldbg.observe.recorder import Recorder


class ModulePaths:
    """One per session."""

    def __init__(self, recorder: Recorder, watched: Watched, discover: bool) -> None:
        self._recorder = recorder
        self._watched = watched
        self._discover = discover
        self._unknown: set[int] = set()
        self._places: dict[int, int] = {}

    def path(self, module: nn.Module, outermost: bool) -> str | None:
        """The path of a module that is called; None for one that is not watched. ``outermost``: by the user's code."""
        if outermost and self._watched.forget_dead():
            # Names go by identity, and a new model may lie where the old one was.
            self._places.clear()
            self._unknown.clear()
        path = self._watched.module_names.get(id(module))
        if path is not None or kind_of(module) == "loss":
            return path
        if outermost and self._discovers and next(module.parameters(), None) is not None:
            self._watched.add_root(*discovery.root_of(module, self._watched.roots()))
            return self._watched.module_names.get(id(module))
        if id(module) not in self._unknown:
            self._unknown.add(id(module))
            if self._watched.refresh() and id(module) in self._watched.module_names:
                return self._watched.module_names[id(module)]
            if not outermost and next(module.parameters(), None) is not None:
                self._note_unregistered(module)
        return self._watched.module_names.get(id(module))

    @property
    def _discovers(self) -> bool:
        """Whether models are looked for: none was given, or the one given is gone and another has taken its place."""
        return self._discover or next(iter(self._watched.roots()), None) is None

    def _note_unregistered(self, module: nn.Module) -> None:
        path = self._watched.name_unregistered(module)
        if path is None:
            return
        for name, child in module.named_modules():
            self._watched.module_names.setdefault(id(child), f"{path}.{name}" if name else path)
        data = {
            "module": path,
            "class": type(module).__name__,
            "parameters": sum(p.numel() for p in module.parameters()),
        }
        self._recorder.fact("model.unregistered", 0, None, data)

    def place(self, module: nn.Module, path: str) -> int:
        """The identifier of a module's place."""
        found = self._places.get(id(module))
        if found is None:
            found = self._places[id(module)] = self._recorder.place("module", path, details_of(module))
        return found

    def unseen(self) -> list[str]:
        """Watched modules without children whose output was never seen."""
        return [
            path
            for path, module in self._watched.modules()
            if id(module) not in self._places and next(module.children(), None) is None
        ]
