"""What kind of process this is."""

from __future__ import annotations

import multiprocessing


def imports_the_script_again() -> bool:
    """Whether this is a child of multiprocessing's "spawn" that is only looking for the functions in the main script.

    A session at the top level of that script, where no ``if __name__ == "__main__"`` guards it, is not meant here.
    """
    return bool(getattr(multiprocessing.current_process(), "_inheriting", False))
