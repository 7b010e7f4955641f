"""Warnings that cannot stop a training run."""

from __future__ import annotations

import sys
import warnings


def warn(message: str) -> None:
    """Warn; where the user turned warnings into errors, print instead: a broken trace is no reason to stop."""
    try:
        warnings.warn(f"NeuralDBG: {message}", RuntimeWarning, stacklevel=3)
    except Warning:
        print(f"NeuralDBG: {message}", file=sys.stderr)
