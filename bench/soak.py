"""A long run of a small model: memory stays flat, the trace file stays bounded.

    python -m bench.soak --minutes 30
    python -m bench.soak --minutes 3 --limit 2000000

The loop is a small MLP with default settings, a learning-rate schedule and a validation now and then. Every few seconds
the resident memory of the process and the size of the trace are noted; the first tenth is warming up and not judged.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import torch
from torch import nn

from neuraldbg import NeuralDbg
from neuraldbg.pipeline import diagnose
from neuraldbg.trace_store.reader import read_trace


def resident_megabytes() -> float:
    """Memory of this process, from /proc (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def file_megabytes(path: Path) -> float:
    """The trace with the log that SQLite keeps beside it."""
    return sum(Path(f"{path}{end}").stat().st_size for end in ("", "-wal") if Path(f"{path}{end}").exists()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--limit", type=int, default=200_000_000, help="limit_bytes of the trace")
    parser.add_argument("--rows", type=int, default=12, help="lines of the table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100_000)
    target = torch.randn(10, 1)
    path = Path(tempfile.mkdtemp()) / "soak.ndbg"
    print("| minutes | steps | resident memory (MB) | trace (MB) |\n| --- | --- | --- | --- |", flush=True)
    began = time.monotonic()
    noted: list[tuple[float, int, float, float]] = []
    steps = 0
    with NeuralDbg(model, path=path, limit_bytes=options.limit) as session:
        while (minutes := (time.monotonic() - began) / 60) < options.minutes:
            for _ in range(200):
                x = torch.randn(32, 10)
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), x @ target + 0.1 * torch.randn(32, 1)).backward()
                optimizer.step()
                schedule.step()
            steps += 200
            if steps % 10_000 == 0:
                model.eval()
                with torch.no_grad():
                    x = torch.randn(256, 10)
                    nn.functional.mse_loss(model(x), x @ target)
                model.train()
            if minutes >= len(noted) * options.minutes / options.rows:
                noted.append((minutes, steps, resident_megabytes(), file_megabytes(path)))
                print("| {:.1f} | {:,} | {:.1f} | {:.2f} |".format(*noted[-1]), flush=True)
        noted.append((minutes, steps, resident_megabytes(), file_megabytes(path)))
        print("| {:.1f} | {:,} | {:.1f} | {:.2f} |".format(*noted[-1]), flush=True)
    warm = [row for row in noted if row[0] >= options.minutes / 10]
    growth = warm[-1][2] - warm[0][2]
    per_million = 1e6 * (warm[-1][3] - warm[0][3]) / max(1, warm[-1][1] - warm[0][1])
    began = time.perf_counter()
    outcome = diagnose(read_trace(path)).outcome
    took = time.perf_counter() - began
    sampled = session._observer.schedule.report if session._observer is not None else {}
    print(
        f"\nmemory grew by {growth:.1f} MB after warming up ({growth / warm[0][2]:.1%}), the trace by {per_million:.1f} MB "
        f"per million steps (limit {options.limit / 1e6:.0f} MB); {sampled.get('observed_steps', 0):.0f} full and "
        f"{sampled.get('light_steps', 0):.0f} light of {steps:,} steps; explained in {took:.2f} s: {outcome}"
    )


if __name__ == "__main__":
    main()
