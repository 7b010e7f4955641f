"""Size: many modules, many parameters, many steps, and the largest trace. Says what is measured and what extrapolated.

python -m bench.scale
python -m bench.scale --modules 2000 --parameters 2e7 --megabytes 50
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from bench.soak import file_megabytes, resident_megabytes
from neuraldbg import NeuralDbg
from neuraldbg.pipeline import diagnose
from neuraldbg.trace_store.reader import read_trace
from neuraldbg.trace_store.writer import TraceWriter


def _row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def _train(model: nn.Module, x: Tensor, steps: int, folder: Path, name: str) -> None:
    """One row: a bare step, an observed one, memory and trace per observed step, and the time to explain."""
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)

    def step() -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    def seconds(count: int) -> float:
        began = time.thread_time()
        for _ in range(count):
            step()
        return (time.thread_time() - began) / count

    step()
    bare = seconds(max(2, steps // 2))
    path = folder / f"{name}.ndbg"
    before = resident_megabytes()
    with NeuralDbg(model, path=path, preset="every_step"):
        seconds(2)  # the first steps describe the model
        started = resident_megabytes()
        full = seconds(steps)
        after = resident_megabytes()
    megabytes = file_megabytes(path)
    began = time.perf_counter()
    diagnose(read_trace(path))
    explained = time.perf_counter() - began
    parameters = sum(p.numel() for p in model.parameters())
    modules = sum(1 for _ in model.modules())
    _row(
        "measured",
        f"{modules:,}",
        f"{parameters:.1e}",
        f"{1e3 * bare:.1f} ms",
        f"{1e3 * full:.1f} ms",
        f"one in {max(1.0, (full - bare) / (0.03 * bare)):.0f}",
        f"{started - before:.0f} MB + {(after - started) / steps:.2f} MB a step",
        f"{1e3 * megabytes / (steps + 2):.1f} kB",
        f"{explained:.2f} s",
    )


def _many_steps(steps: int, folder: Path) -> None:
    """Trace and memory per step of a run under default settings, and what they come to at a million."""
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    path = folder / "steps.ndbg"
    marks = []
    with NeuralDbg(model, path=path) as session:
        for step in range(steps):
            x = torch.randn(32, 10)
            optimizer.zero_grad()
            (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
            optimizer.step()
            if step in (steps // 2, steps - 1):
                time.sleep(1.2)  # the writer commits twice a second
                marks.append((step, resident_megabytes(), file_megabytes(path)))
    assert session._observer is not None
    report = session._observer.schedule.report
    (first, memory, size), (last, memory_end, size_end) = marks
    each = (size_end - size) / (last - first)
    grown = (memory_end - memory) / (last - first)
    print(
        f"\nsteps: measured {steps:,} (full {report['observed_steps']:.0f}, light {report['light_steps']:.0f}): trace "
        f"{size_end:.1f} MB, {1e6 * each:.0f} bytes and {1e6 * grown:.0f} bytes of memory a step at the end; extrapolated "
        f"to 1e6 steps: {size_end + each * (1e6 - last):.0f} MB before thinning, the limit is 200 MB"
    )


def _largest(megabytes: float, folder: Path) -> None:
    """A trace that is written until it has been thinned at its limit, and how long reading and explaining take."""
    modules, quantities = (
        500,
        ("output_mean", "output_std", "output_absmax", "output_gradient_norm", "output_zero_share"),
    )
    path = folder / "largest.ndbg"
    writer = TraceWriter(path, {"script": "scale"}, int(megabytes * 1e6))
    loss = writer.place("loss", "loss", {})
    places = tuple(writer.place("module", f"blocks.{i}", {"kind": "linear", "leaf": True}) for i in range(modules))
    parameters = tuple(writer.place("parameter", f"blocks.{i}.weight", {"elements": 1000}) for i in range(modules))
    noise = np.random.default_rng(0)
    # Random numbers do not compress: a block is about as large as its numbers.
    steps = int(1.3 * megabytes * 1e6 / (8 * modules * (len(quantities) + 3)))
    for step in range(steps):
        writer.observe("loss.value", step, (loss,), (float(np.exp(-step / steps) + 0.1 * noise.random()),))
        for quantity in quantities:
            writer.observe(f"module.{quantity}", step, places, tuple(noise.random(modules)))
        for quantity in ("gradient_norm", "weight_norm", "update_norm"):
            writer.observe(f"parameter.{quantity}", step, parameters, tuple(noise.random(modules)))
        if step % 200 == 0:
            writer.flush()
    writer.close()
    began = time.perf_counter()
    trace = read_trace(path)
    read = time.perf_counter() - began
    diagnose(trace)
    total = time.perf_counter() - began
    print(
        f"\nlargest trace: {steps:,} steps of {modules * (len(quantities) + 3):,} numbers written, limit {megabytes:.0f} MB, "
        f"file {file_megabytes(path):.0f} MB; opened in {read:.2f} s, explained in {total:.2f} s in all"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=int, default=10_000)
    parser.add_argument("--parameters", type=float, default=3e8, help="a billion needs 8 GB: weights and gradients")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--megabytes", type=float, default=200.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"{os.cpu_count()} processors, torch {torch.__version__}, one thread\n")
    _row(
        "", "modules", "parameters", "bare step", "observed step", "sampled at 3 %", "memory", "trace a step", "explain"
    )
    _row(*["---"] * 9)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in (options.modules // 10, options.modules):
            _train(nn.Sequential(*(nn.Linear(4, 4) for _ in range(count))), torch.randn(8, 4), 4, folder, f"m{count}")
        for total in (options.parameters / 10, options.parameters):
            width = int((total / 8) ** 0.5)
            _train(
                nn.Sequential(*(nn.Linear(width, width) for _ in range(8))),
                torch.randn(4, width),
                3,
                folder,
                f"p{width}",
            )
        _many_steps(options.steps, folder)
        _largest(options.megabytes, folder)


if __name__ == "__main__":
    main()
