"""What watching costs: observed ÷ bare step, in thread CPU time of one thread, interleaved in one process.

    python -m bench.overhead                     every workload, a minute or two each
    python -m bench.overhead mlp deep --seconds 4 --no-peers

A *block* of steps is timed bare, then watched, then bare again for the A/A control, in turn. ``watched ÷ bare`` is the
total of all watched blocks over the total of all bare ones, so that the few observed steps count in full; quartiles are
those of the paired blocks. Two states are measured: *steady*, after the allowance is used up, which is what a long run
pays; and *whole run*, a run of some seconds from its first step with default settings, which is what a short one pays
(one second of observing, the allowance, is the larger part of it). Effects under the spread of A/A are not resolved.
"""

from __future__ import annotations

import argparse
import contextlib
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from bench.workloads import WORKLOADS, Workload
from neuraldbg import NeuralDbg

GOALS = {"mlp": 1.05, "k1000": 1.03}
RESULTS = Path(__file__).parent / "results" / "overhead.md"


@dataclass
class Ratio:
    """Watched over bare."""

    total: float
    lower: float
    median: float
    upper: float

    def __str__(self) -> str:
        return f"{self.total:.3f} ({self.lower:.3f}–{self.median:.3f}–{self.upper:.3f})"


def ratio(above: list[float], below: list[float]) -> Ratio:
    """Total over total, and quartiles of the pairs."""
    pairs = [a / b for a, b in zip(above, below)]
    lower, median, upper = statistics.quantiles(pairs, n=4)
    return Ratio(sum(above) / sum(below), lower, median, upper)


def timed(step: Callable[[], None], count: int) -> float:
    """Seconds of this thread's CPU for ``count`` steps."""
    start = time.thread_time()
    for _ in range(count):
        step()
    return time.thread_time() - start


class Watched:
    """An open session that can be taken out of torch while bare steps are timed; its clock stands still meanwhile."""

    def __init__(self, model: nn.Module, folder: str, **settings: float) -> None:
        self._session = NeuralDbg(model, path=Path(folder) / f"{time.perf_counter_ns()}.trace", **settings)  # type: ignore[arg-type]
        self._session.__enter__()
        observer = self._session._observer
        assert observer is not None
        self.observer = observer
        self._away = 0.0
        self._left_at = 0.0
        observer.schedule.clock = lambda: time.thread_time() - self._away
        observer.schedule.restart()
        self.pause()

    def pause(self) -> None:
        self.observer.pause()
        self._left_at = time.thread_time()

    def resume(self) -> None:
        self._away += time.thread_time() - self._left_at
        self.observer.resume()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        self.resume()
        try:
            yield
        finally:
            self.pause()

    def close(self) -> dict[str, float]:
        self.resume()
        self._session.__exit__(None, None, None)
        return self.observer.schedule.report


def _block(workload: Workload, seconds: float) -> int:
    """Steps in a block that lasts about ``seconds``."""
    timed(workload.step, 3)
    count = 1
    while (spent := timed(workload.step, count)) < 0.02 and count < 4096:
        count *= 2
    return max(2, min(20000, round(seconds * count / spent)))


def steady(workload: Workload, seconds: float, folder: str) -> tuple[Ratio, Ratio, float, dict[str, float]]:
    """After the allowance: (watched ÷ bare, A/A, milliseconds of a bare step, what was sampled)."""
    blocks = 12
    count = _block(workload, seconds / blocks)
    watched = Watched(workload.model, folder, allowance=0.0)
    with watched():
        timed(workload.step, 25)  # the opening, which is observed at every step
        watched.observer.schedule.restart()
    bare: list[float] = []
    again: list[float] = []
    seen: list[float] = []
    for _ in range(blocks):
        bare.append(timed(workload.step, count))
        with watched():
            seen.append(timed(workload.step, count))
        again.append(timed(workload.step, count))
    report = watched.close()
    middle = [(a + b) / 2 for a, b in zip(bare, again)]
    return ratio(seen, middle), ratio(again, bare), 1e3 * statistics.median(middle) / count, report


def whole(make: Callable[[], Workload], seconds: float, folder: str) -> tuple[float, float, dict[str, float]]:
    """From the first step with default settings: (watched ÷ bare, extra seconds, what was sampled)."""
    workload = make()
    count = _block(workload, seconds / 40)
    watched = Watched(workload.model, folder)
    bare = seen = 0.0
    while bare < seconds:
        bare += timed(workload.step, count)
        with watched():
            seen += timed(workload.step, count)
    return seen / bare, seen - bare, watched.close()


def anomaly(workload: Workload) -> Callable[[], None]:
    """The peer that comes with torch."""

    def step() -> None:
        with torch.autograd.set_detect_anomaly(True, check_nan=True):
            workload.step()

    return step


def naive_hooks(workload: Workload) -> Callable[[], None]:
    """What people write by hand: mean and standard deviation of every module's output, read at once."""
    log: list[float] = []

    def hook(module: nn.Module, args: object, output: object) -> None:
        if isinstance(output, torch.Tensor) and output.is_floating_point():
            log.append(output.detach().mean().item())
            log.append(output.detach().std().item())

    def step() -> None:
        handles = [module.register_forward_hook(hook) for module in leaves]
        workload.step()
        for handle in handles:
            handle.remove()
        log.clear()

    leaves = [module for module in workload.model.modules() if next(module.children(), None) is None]
    return step


PEERS = {"set_detect_anomaly": anomaly, "naive hooks with .item()": naive_hooks}


def peer(workload: Workload, wrap: Callable[[Workload], Callable[[], None]], seconds: float) -> Ratio:
    count = _block(workload, seconds / 8)
    step = wrap(workload)
    bare, seen = [], []
    for _ in range(5):
        bare.append(timed(workload.step, count))
        seen.append(timed(step, count))
    return ratio(seen, bare)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[], help=", ".join(WORKLOADS))
    parser.add_argument("--seconds", type=float, default=12.0, help="seconds of bare steps per measurement")
    parser.add_argument("--whole", type=float, default=10.0, help="seconds of the whole run; 0 leaves it out")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    names = options.names or list(WORKLOADS)
    lines = [
        f"torch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}, one thread, "
        "thread CPU time; total ÷ total (lower quartile–median–upper quartile of the pairs)",
        "",
        "| workload | bare step | watched, steady | A/A | sampled | whole run | " + " | ".join(PEERS) + " | goal |",
        "| --- | --- | --- | --- | --- | --- |" + " --- |" * (len(PEERS) + 1),
    ]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            workload = WORKLOADS[name]()
            seen, control, milliseconds, report = steady(workload, options.seconds, folder)
            sampled = f"{report['observed_steps']:.0f} + {report['light_steps']:.0f} of {report['steps']:.0f}"
            short = "–"
            if options.whole > 0:
                share, extra, first = whole(WORKLOADS[name], options.whole, folder)
                short = f"{share:.2f} in {options.whole:.0f} s (+{extra:.1f} s, {first['observed_steps']:.0f} full)"
            cells = []
            for wrap in PEERS.values():
                skip = options.no_peers or (name.startswith("compiled") and wrap is naive_hooks)
                cells.append("–" if skip else f"{peer(workload, wrap, options.seconds / 2).total:.2f}")
            goal = GOALS.get(name, 1.02)
            row = [name, f"{milliseconds:.2f} ms", str(seen), str(control), sampled, short, *cells, f"{goal:.2f}"]
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], flush=True)
    if not options.names:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text("\n".join(lines) + "\n")
        print(f"\nwritten to {RESULTS.relative_to(Path.cwd())}", file=sys.stderr)


if __name__ == "__main__":
    main()
