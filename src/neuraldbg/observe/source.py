"""Where in the user's code something happens."""

from __future__ import annotations

import os
import sys
import sysconfig
from types import FrameType

import torch

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_LIBRARIES = tuple(
    {sysconfig.get_paths()[name] + os.sep for name in ("purelib", "platlib", "stdlib")} | {_PACKAGE, _TORCH}
)
#: File → whether it is not the user's, as far as it was asked for.
libraries: dict[str, bool] = {}


def is_library(filename: str) -> bool:
    """Whether a file is not the user's: of torch, the standard library, an installed package or NeuralDBG."""
    known = libraries.get(filename)
    if known is None:
        known = libraries[filename] = filename.startswith(("<frozen", "<string")) or filename.startswith(_LIBRARIES)
    return known


def user_frame(depth: int = 1) -> FrameType | None:
    """The innermost frame outside torch, the standard library, installed packages and NeuralDBG."""
    try:
        frame: FrameType | None = sys._getframe(depth)
    except ValueError:
        return None
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def called_from(folder: str, depth: int = 1) -> bool:
    """Whether a file of a folder is among the frames between here and the user's code."""
    try:
        frame: FrameType | None = sys._getframe(depth)
    except ValueError:
        return False
    while frame is not None and is_library(frame.f_code.co_filename):
        if frame.f_code.co_filename.startswith(folder):
            return True
        frame = frame.f_back
    return False


def location(frame: FrameType | None) -> str | None:
    """``train.py:57``, relative to the working folder where possible; None without a frame."""
    if frame is None:
        return None
    filename = frame.f_code.co_filename
    try:
        relative = os.path.relpath(filename)
    except (ValueError, OSError):
        relative = filename
    shown = filename if relative.startswith("..") else relative
    return f"{shown}:{frame.f_lineno}"
