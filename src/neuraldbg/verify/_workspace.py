"""A working folder for one replay, in which the program can write what it likes and the user's files stay as they are.

Small files are copied, large ones are links. Paths outside of it that the program opens for writing, moves or removes
are redirected below it, and what was written there is found there again; what can't be redirected is refused, and the
replay says so. Writes that go around Python are out of reach, but for ``torch.save``.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import io
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: Files above this, and all that come after this sum, are linked instead of copied; in bytes.
_COPY_FILE, _COPY_ALL = 1_000_000, 30_000_000
#: Folders that no training reads its data from.
_LEFT_OUT = {".git", ".neuraldbg", "__pycache__", ".venv", "venv", "node_modules", ".mypy_cache", ".pytest_cache"}
#: Files and folders that are looked at; a folder with more is linked whole at its top level.
_MOST_FILES = 5_000
_OUTSIDE = ".outside"
#: Functions of ``os`` that ask what is there, and those that take it away.
_ASK, _REMOVE = ("stat", "lstat", "listdir", "scandir", "access"), ("remove", "unlink", "rmdir")


def copy_folder(source: Path, target: Path) -> None:
    """Make ``target`` look like ``source``."""
    budget = _COPY_ALL
    count = 0
    for folder, folders, files in os.walk(source):
        here = target / Path(folder).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        for name in [name for name in folders if (Path(folder) / name).is_symlink()]:
            folders.remove(name)
            (here / name).symlink_to(Path(folder) / name)
        for name in files:
            original = Path(folder) / name
            count += 1
            try:
                size = original.stat().st_size
                if size <= min(_COPY_FILE, budget) and original.is_file():
                    shutil.copy2(original, here / name)
                    budget -= size
                elif original.is_file():
                    (here / name).symlink_to(original)
            except OSError:
                continue  # a socket, a file that has just gone: nothing that a training needs
        if count > _MOST_FILES:
            for name in folders:
                (here / name).symlink_to(Path(folder) / name)
            folders.clear()


@contextlib.contextmanager
def new_workspace(folder: Path) -> Iterator[Path]:
    """A copy of a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="neuraldbg-verify-", ignore_cleanup_errors=True) as root:
        target = Path(root).resolve() / "work"
        copy_folder(folder, target)
        (target.parent / "tmp").mkdir()
        yield target


class Guard:
    """Redirects and refuses writes of this process, for good: it belongs into a process of its own."""

    def __init__(self, workspace: Path, original: Path) -> None:
        self._root = str(workspace.parent.resolve())
        self._workspace = workspace.resolve()
        self._original = original.resolve()
        home = Path.home()
        # Caches of libraries are theirs, not the user's files.
        allowed = [home / ".cache", home / ".config", home / ".triton", Path("/dev"), Path("/proc")]
        self._allowed = tuple(f"{path}{os.sep}" for path in [self._root, *allowed])
        #: What the program has removed: it is not to come back where the user's file still lies.
        self._gone: list[str] = []
        #: Whether this thread is finding out where a path leads, with the functions that are redirected.
        self._inside = threading.local()

    def install(self) -> None:
        real_open, real_mkdir = builtins.open, os.mkdir

        def opened(file: Any, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
            writes = any(letter in mode for letter in "wax+")
            return real_open(self.redirected(file, writes, keep="w" not in mode), mode, *arguments, **keywords)

        def mkdir(path: Any, *arguments: Any, **keywords: Any) -> Any:
            return real_mkdir(self.redirected(path, True), *arguments, **keywords)

        builtins.open = opened  # type: ignore[assignment]
        io.open = opened  # type: ignore[assignment]
        os.mkdir = mkdir  # type: ignore[assignment]
        for name in _ASK:
            self._replace(os, name, self._asking)
        for name in _REMOVE:
            self._replace(os, name, self._removing)
        for name in ("rename", "replace"):
            self._replace(os, name, self._moving)
        self._replace(shutil, "rmtree", self._removing)
        sys.addaudithook(self._audit)

    @staticmethod
    def _replace(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        original = getattr(owner, name)
        replacement = functools.update_wrapper(make(original), original)
        setattr(owner, name, replacement)
        # What asks whether a function knows relative descriptors looks it up in a set.
        for known in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
            if original in known:
                known.add(replacement)

    def _asking(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def ask(path: Any = ".", *arguments: Any, **keywords: Any) -> Any:
            if keywords.get("dir_fd") is None:
                path = self.redirected(path, False)
            return original(path, *arguments, **keywords)

        return ask

    def _removing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def remove(path: Any, *arguments: Any, **keywords: Any) -> Any:
            if keywords.get("dir_fd") is not None:
                return original(path, *arguments, **keywords)
            result = original(self.redirected(path, False), *arguments, **keywords)
            self._note_gone(path)
            return result

        return remove

    def _moving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def move(source: Any, target: Any, **keywords: Any) -> Any:
            if any(keywords.values()):
                return original(source, target, **keywords)
            result = original(self.redirected(source, False), self.redirected(target, True))
            self._note_gone(source)
            return result

        return move

    def _note_gone(self, path: Any) -> None:
        with contextlib.suppress(TypeError, ValueError):
            text = os.path.abspath(os.fsdecode(path))
            if not text.startswith(self._root + os.sep):
                self._gone.append(text)

    def _is_gone(self, text: str) -> bool:
        return any(text == gone or text.startswith(gone + os.sep) for gone in self._gone)

    def around_torch(self) -> None:
        """``torch.save`` writes its file in C++, past ``open``."""
        import torch

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def save(thing: Any, f: Any, *arguments: Any, **keywords: Any) -> Any:
                return original(thing, self.redirected(f, True), *arguments, **keywords)

            return save

        def make_load(original: Callable[..., Any]) -> Callable[..., Any]:
            def load(f: Any, *arguments: Any, **keywords: Any) -> Any:
                return original(self.redirected(f, False), *arguments, **keywords)

            return load

        torch.save = make(torch.save)
        torch.load = make_load(torch.load)

    def redirected(self, file: Any, writes: bool, keep: bool = False) -> Any:
        """Where a path of the program leads: below the workspace if it writes, or wrote there before."""
        if not isinstance(file, (str, os.PathLike)) or getattr(self._inside, "now", False):
            return file
        self._inside.now = True
        try:
            return self._led(file, writes, keep)
        finally:
            self._inside.now = False

    def _led(self, file: str | os.PathLike[Any], writes: bool, keep: bool) -> Any:
        try:
            given = Path(os.path.abspath(os.fspath(file)))
        except (TypeError, ValueError):
            return file
        text = str(given)
        if text.startswith(self._root + os.sep):
            if writes and given.is_symlink():
                # A link to a file of the user's: from here on it is a file of the workspace.
                source = given.resolve()
                given.unlink()
                if keep and source.is_file():
                    shutil.copyfile(source, given)
            if not writes or str(given.parent.resolve()).startswith(self._root):
                return file
        elif any(text.startswith(prefix) for prefix in self._allowed):
            return file
        try:
            moved = self._workspace / given.relative_to(self._original)
        except ValueError:
            moved = Path(self._root) / _OUTSIDE / text.lstrip(os.sep)
        if writes:
            for parent in [*reversed(moved.parents)]:
                # Folders that exist on the disk exist in its shadow, too; a missing one stays missing.
                if str(parent).startswith(self._root) and not parent.exists():
                    os.makedirs(parent, exist_ok=True)
            if keep and given.is_file() and not moved.exists():
                shutil.copyfile(given, moved)
            return str(moved)
        return str(moved) if moved.exists() or self._is_gone(text) else file

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = bool(mode and any(letter in mode for letter in "wax+")) or bool(
                isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            )
            if writes:
                self._check(path)
        elif event in ("os.remove", "os.rmdir", "os.truncate", "shutil.rmtree"):
            self._check(arguments[0])
        elif event in ("os.rename", "shutil.move"):
            self._check(arguments[0])
            self._check(arguments[1])
        elif event in ("os.symlink", "os.link", "shutil.copyfile"):
            self._check(arguments[1])

    def _check(self, path: Any) -> None:
        if isinstance(path, int) or path is None:
            return
        before, self._inside.now = getattr(self._inside, "now", False), True
        try:
            self._refuse_outside(path)
        finally:
            self._inside.now = before

    def _refuse_outside(self, path: Any) -> None:
        real = os.path.realpath(os.fsdecode(path))
        # What is removed by its link is the link.
        itself = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(os.fsdecode(path)))), "x")
        if not real.startswith(self._allowed) and not (
            os.path.islink(os.fsdecode(path)) and itself.startswith(self._allowed)
        ):
            raise PermissionError(
                f"the replay wanted to write {real!r}, outside of its folder; the file was not touched"
            )
