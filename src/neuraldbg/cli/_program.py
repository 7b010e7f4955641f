"""Runs a script or a module the way that ``python train.py`` and ``python -m pkg.train`` do."""

from __future__ import annotations

import builtins
import os
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pkgutil import get_importer
from types import CodeType, ModuleType, TracebackType
from typing import Any

from neuraldbg.errors import UsageError


@dataclass(frozen=True)
class Program:
    """What is to run; exactly one of script and module is set."""

    script: str | None
    module: str | None
    arguments: tuple[str, ...]

    def check(self) -> None:
        """Raises UsageError where there is nothing to run; imports nothing of the user's."""
        if self.script is not None and not os.path.exists(self.script):
            raise UsageError(f"expected a script, found no file {self.script!r}; name one: neuraldbg run train.py")

    def execute(self) -> None:
        """Runs it as ``__main__``; whatever it raises passes through.

        The module stays in ``sys.modules["__main__"]`` to the end of the process, as it does in plain Python: objects
        of its classes can be pickled, exit handlers find their globals, and a spawned process can import it again.
        """
        if self.module is not None:
            sys.argv = ["-m", *self.arguments]
            _replace_first_path(os.getcwd())
            code, spec = _module_code(self.module)
            sys.argv[0] = spec.origin or self.module
            main = _main_module(spec.origin, spec.loader, spec)
        else:
            assert self.script is not None
            sys.argv = [self.script, *self.arguments]
            path = os.path.abspath(self.script)
            if os.path.isdir(path) or get_importer(path) is not None:
                _replace_first_path(path)
                code, spec = _module_code("__main__", path)
                main = _main_module(spec.origin, spec.loader, spec)
            else:
                _replace_first_path(os.path.dirname(os.path.realpath(path)))
                main = _main_module(path, SourceFileLoader("__main__", path), None)
                with open(path, "rb") as file:
                    code = compile(file.read(), path, "exec", dont_inherit=True)
        sys.modules["__main__"] = main
        exec(code, main.__dict__)


def without_our_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the script's first frame on."""
    own = os.path.dirname(__file__) + os.sep
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(own):
        traceback = traceback.tb_next
    return traceback


def _main_module(path: str | None, loader: Any, spec: ModuleSpec | None) -> ModuleType:
    """An empty ``__main__`` with the attributes that the interpreter gives it."""
    main = ModuleType("__main__")
    vars(main).update(
        __file__=path,
        __loader__=loader,
        __spec__=spec,
        __package__=spec.parent if spec is not None else None,
        __cached__=spec.cached if spec is not None else None,
        __builtins__=builtins,
        __annotations__={},
    )
    if path is None:
        del main.__file__
    return main


def _replace_first_path(folder: str) -> None:
    """``sys.path[0]`` is the folder of our own command, unless Python was told to be safe (-P, -I)."""
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        sys.path[0] = folder


def _module_code(name: str, path: str | None = None) -> tuple[CodeType, ModuleSpec]:
    """The code of a module that is to run as the main one; a package's is its ``__main__``."""
    if path is not None:
        finder: Any = get_importer(path)
        spec = finder.find_spec(name) if finder is not None else None
    else:
        try:
            spec = find_spec(name)
        except (ModuleNotFoundError, ValueError) as error:
            if isinstance(error, ModuleNotFoundError) and error.name and not f"{name}.".startswith(f"{error.name}."):
                raise  # the parent package exists and imports something that does not
            spec = None
    if spec is not None and spec.submodule_search_locations is not None:
        return _module_code(f"{name}.__main__")
    loader: Any = spec.loader if spec is not None else None
    code = loader.get_code(spec.name) if spec is not None and hasattr(loader, "get_code") else None
    if spec is None or code is None:
        place = f"{path!r}" if path is not None else "the working folder and the installed packages"
        raise UsageError(f"expected a module with code, found no module named {name!r} in {place}; check the name")
    return code, spec
