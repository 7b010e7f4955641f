"""Several processes that train together, started as users start them."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from helpers.command_line import environment


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def torchrun(folder: Path, *program: str, processes: int = 2) -> subprocess.CompletedProcess[str]:
    """Started by torchrun, which ends the others when one of them dies."""
    return subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes), "--master-addr",
         "127.0.0.1", "--master-port", str(free_port()), *program],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


def side_by_side(folder: Path, script: str, processes: int = 2, seconds: float = 600) -> list[tuple[int, str, str]]:
    """Started without torchrun, which would end the rank that is left: exit code, output and errors of each.

    Raises:
        subprocess.TimeoutExpired: rank 0 has not ended in time; all of them are ended then.
    """
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(processes)}
    ranks = [
        subprocess.Popen(
            [sys.executable, script], cwd=folder, env=environment(**place, RANK=str(rank)),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(processes)
    ]  # fmt: skip
    try:
        said = [process.communicate(timeout=seconds) for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    return [(process.returncode, *both) for process, both in zip(ranks, said)]
