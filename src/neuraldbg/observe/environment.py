"""What surrounds a run: the script, its arguments, versions; and how an exception of it is written down."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

import torch


def environment(script: str | None) -> dict[str, Any]:
    """Where and with what the run takes place, for the trace's meta."""
    return {
        "script": script or (sys.argv[0] if sys.argv and sys.argv[0] else "interactive"),
        "arguments": sys.argv[1:],
        "folder": _working_folder(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": platform.platform(),
        "threads": torch.get_num_threads(),
        "cuda": torch.version.cuda if torch.cuda.is_available() else None,
    }


def _working_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def described(error: BaseException) -> dict[str, str]:
    """Type and message of an exception, whatever its ``__str__`` does."""
    try:
        message = str(error)[:2000]
    except Exception:
        message = ""
    return {"type": type(error).__name__, "message": message}
