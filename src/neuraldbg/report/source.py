"""The line of the user's code that a verdict points at."""

from __future__ import annotations

import linecache
import math
import os
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import PurePath
from typing import Any

#: Reads one line of the user's source: (path as recorded, line number) → text, or "" where it cannot be read.
SourceReader = Callable[[str, int], str]

_POSITION = re.compile(r"^(?P<path>.*?):(?P<line>\d+)(?::\d+)?(?:\s+(?P<code>\S.*))?$")


def place_and_code(source: str | None, meta: Mapping[str, Any], reader: SourceReader) -> tuple[str, str]:
    """("train.py:57", the line's text); the path relative to the run's folder where it lies in it."""
    if not source:
        return "", ""
    match = _POSITION.match(source)
    if match is None:
        return source, ""
    path, line = match["path"], int(match["line"])
    code = match["code"] or reader(path, line).strip()
    folder = str(meta.get("folder") or "")
    short = path[len(folder) :].lstrip("/\\") if folder and path.startswith((folder + "/", folder + "\\")) else path
    # A path that stays absolute is long and mostly the reader's own folders: the file's name says it.
    return f"{PurePath(short).name if PurePath(short).is_absolute() else short}:{line}", code


def disk_reader(meta: Mapping[str, Any]) -> SourceReader:
    """Reads from disk, paths relative to the run's folder; nothing where the file was changed since the run began."""
    try:
        started = datetime.fromisoformat(str(meta.get("started"))).timestamp()
    except ValueError:
        started = math.inf

    def read(path: str, line: int) -> str:
        file = os.path.join(str(meta.get("folder") or ""), path)
        try:
            # The start is kept in whole seconds.
            if os.stat(file).st_mtime >= started + 1:
                return ""
        except (OSError, ValueError):
            return ""
        linecache.checkcache(file)
        return linecache.getline(file, line)

    return read
