"""Without numpy's warnings: numbers that are not finite are what is looked for, and no news to the user."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import numpy as np


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Also for a function, as a decorator: ``@quiet()``."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
