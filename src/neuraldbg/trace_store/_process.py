"""What kind of process this is."""

from __future__ import annotations

import multiprocessing
import os
import sys
from typing import Any


def imports_the_script_again() -> bool:
    """Whether this is a child of multiprocessing's "spawn" that is only looking for the functions in the main script.

    A session at the top level of that script, where no ``if __name__ == "__main__"`` guards it, is not meant here.
    """
    return bool(getattr(multiprocessing.current_process(), "_inheriting", False))


def ranks() -> dict[str, Any] | None:
    """This process among those that train together: ``rank``, ``world`` and a name of the ``run``; None when alone.

    Read off what launchers such as torchrun set, else asked of an initialized process group.
    """
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    distributed = sys.modules.get("torch.distributed")
    if not (rank.isdigit() and world.isdigit()):
        try:
            if distributed is None or not distributed.is_available() or not distributed.is_initialized():
                return None
            rank, world = str(distributed.get_rank()), str(distributed.get_world_size())
        except Exception:
            return None
    if int(world) < 2:
        return None
    run = ":".join(os.environ.get(name, "") for name in ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"))
    return {"rank": int(rank), "world": int(world), "run": run}
