"""Where traces go: ``.neuraldbg/`` of the working folder, unless NEURALDBG_DIR names another."""

from __future__ import annotations

import os
import re
import tempfile
import time
from pathlib import Path

from neuraldbg.errors import TraceError
from neuraldbg.trace_store._process import imports_the_script_again
from neuraldbg.trace_store._warn import warn
from neuraldbg.trace_store.reader import summary

SUFFIX = ".ndbg"
FOLDER_NAME = ".neuraldbg"
FOLDER_VARIABLE = "NEURALDBG_DIR"

#: Longest script name kept in a file name, in characters: with time and pid it stays far below the 255 bytes that file
#: systems allow.
NAME_LENGTH = 40


def trace_folder() -> Path:
    """The folder that traces are meant to go to; it need not exist yet."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen).expanduser() if chosen else Path.cwd() / FOLDER_NAME


def new_trace_path(script: str | None = None) -> Path:
    """A path for a new trace, reserved by creating the file, empty.

    The name is made of the script's name, the time (UTC) and the process: ``train-20250131-142501-4711.ndbg``, with a
    number added where that is taken, by a second session or by a process with the same pid in another container. Where
    the folder cannot be written, the file lies in a temporary folder, and one warning per process says so. Never
    raises: where no folder can be written at all, the path is not reserved, and the writer will say that it failed.
    """
    stem = f"{_clean(script)}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}"
    if imports_the_script_again():  # no writer will follow
        return Path(stem + SUFFIX)
    try:
        return _reserve(_made(trace_folder()), stem)
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: "~" without a home
        reason = error
    try:
        return _reserve(_temporary_folder(reason), stem)
    except OSError:
        return Path(stem + SUFFIX)


def set_aside(path: Path) -> Path | None:
    """Make room for a new trace: a finished or abandoned one that lies at ``path`` gets a free name beside it.

    ``run.ndbg`` becomes ``run.1.ndbg``, with its ``-wal`` if a killed process left one. What is not a trace, and a
    trace that another living process writes, is left alone. Never raises.

    Returns:
        The new name of the old trace; None when there was none.
    """
    try:
        if imports_the_script_again() or not path.is_file() or not path.stat().st_size:
            return None
        meta = summary(path)
        writer = meta.get("pid")
        if meta.get("finished") is None and isinstance(writer, int) and writer != os.getpid() and _runs(writer):
            return None
        aside = _free_name(path)
        path.rename(aside)
        for ending in ("-wal", "-shm"):
            beside = path.with_name(path.name + ending)
            if beside.exists():
                beside.rename(aside.with_name(aside.name + ending))
    except (OSError, ValueError, TraceError):
        return None
    return aside


def _free_name(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.stem}.{number}{path.suffix}")).exists():
        number += 1
    return aside


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def trace_named(name: str) -> Path | None:
    """The newest trace of the present folder whose file name begins with a name, as that of its script does."""
    if not name or Path(name).name != name:
        return None
    return next((path for path in list_traces() if path.name.startswith(name)), None)


def list_traces(folder: Path | None = None) -> list[Path]:
    """All traces in a folder (the present one by default), the newest first."""
    traces = []
    for path in (trace_folder() if folder is None else folder).glob(f"*{SUFFIX}"):
        try:
            traces.append((path.stat().st_mtime_ns, path))
        except OSError:  # deleted since the listing
            continue
    return [path for _, path in sorted(traces, reverse=True)]


def _clean(script: str | None) -> str:
    """The script's name without folder and ending, made of letters, digits, ``_`` and ``-`` alone."""
    name = Path(script).name if script else ""
    if name.endswith((".py", ".ipynb", ".pyz")):
        name = name[: name.rindex(".")]
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:NAME_LENGTH].strip("_-") or "python"


def _made(folder: Path) -> Path:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        # Traces are nobody's source: kept out of the user's repository without an edit to their own .gitignore.
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    return folder


def _reserve(folder: Path, stem: str) -> Path:
    number = 1
    while True:
        path = folder / f"{stem}{f'-{number}' if number > 1 else ''}{SUFFIX}"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            number += 1
        else:
            return path


_fallback: Path | None = None


def _temporary_folder(reason: Exception) -> Path:
    """The one temporary folder of this process."""
    global _fallback
    if _fallback is None or not _fallback.is_dir():
        first = _fallback is None
        _fallback = Path(tempfile.mkdtemp(prefix="neuraldbg-"))
        if first:
            warn(
                f"the trace folder cannot be written ({reason}); traces of this process go to {_fallback}. "
                f"Set {FOLDER_VARIABLE} to choose a folder."
            )
    return _fallback
