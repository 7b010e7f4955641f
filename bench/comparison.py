"""What each tool sees on the same failing runs: ``python -m bench.comparison [--steps 120] [--only NAME]``.

Every program is trained anew under each tool, from the same seed: bare, under ``torch.autograd.set_detect_anomaly``, with
W&B ``watch`` (offline), with TensorBoard histograms, with NeuralDBG. What a tool says by itself is written down: an
exception, a warning, a verdict. Tools that record and do not judge are credited with the step from which their records
show that something is not finite. Two simple judges of the same trace (bench/faultbench/baselines.py) stand beside.
"""

from __future__ import annotations

import argparse
import json
import re
import struct
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.faultbench.baselines import BASELINES
from neuraldbg import NeuralDbg
from neuraldbg.trace_store.reader import read_trace

Step = Callable[[int], Tensor]
Program = Callable[[], tuple[nn.Module, torch.optim.Optimizer, Step]]


def _regression(change: Callable[[int, Tensor], Tensor] | None = None, rate: float = 0.02, clear: bool = True) -> Any:
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)

    def step(index: int) -> Tensor:
        inputs = torch.randn(64, 10)
        targets = inputs.sin().sum(1, keepdim=True)
        if change is not None:
            inputs = change(index, inputs)
        if clear:
            optimizer.zero_grad()
        loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


def healthy() -> Any:
    return _regression()


def nan_in_input() -> Any:
    def spoil(index: int, inputs: Tensor) -> Tensor:
        if index == 60:
            inputs = inputs.clone()
            inputs[17, 3] = float("nan")
        return inputs

    return _regression(spoil)


def learning_rate_too_high() -> Any:
    return _regression(rate=2.0)


def missing_zero_grad() -> Any:
    return _regression(rate=0.05, clear=False)


def loss_domain() -> Any:
    """The distance of two embeddings, whose root has no gradient where they are equal: in the pair of step 60."""
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    def step(index: int) -> Tensor:
        left, right = torch.randn(32, 10), torch.randn(32, 10)
        if index == 60:
            right[5] = left[5]
        optimizer.zero_grad()
        distance = (model(left) - model(right)).pow(2).sum(1).sqrt()
        loss = (distance - (left - right).norm(dim=1)).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


def _classifier(last: list[nn.Module], trained: slice = slice(None)) -> Any:
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5), *last)
    optimizer = torch.optim.Adam(list(model.parameters())[trained], lr=0.005)

    def step(index: int) -> Tensor:
        inputs = torch.randn(64, 10)
        labels = inputs[:, :5].argmax(1)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


def redundant_softmax() -> Any:
    return _classifier([nn.Softmax(dim=1)])


def parameters_not_in_optimizer() -> Any:
    return _classifier([], slice(4, None))


def loss_shape_mismatch() -> Any:
    """Predictions of shape (64, 1) against targets of shape (64,)."""
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step(index: int) -> Tensor:
        inputs = torch.randn(64, 10)
        optimizer.zero_grad()
        loss = ((model(inputs) - inputs.sum(1)) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


def vanishing_depth() -> Any:
    layers: list[nn.Module] = [nn.Linear(10, 32), nn.Sigmoid()]
    for _ in range(12):
        layers += [nn.Linear(32, 32), nn.Sigmoid()]
    model = nn.Sequential(*layers, nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def step(index: int) -> Tensor:
        inputs = torch.randn(64, 10)
        optimizer.zero_grad()
        loss = F.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


PROGRAMS: dict[str, tuple[Program, str, str]] = {
    "nan_in_input": (nan_in_input, "one NaN in one row, step 60", "nan_in_input"),
    "loss_domain": (loss_domain, "root of a distance of zero, step 60", "loss_domain"),
    "learning_rate_too_high": (learning_rate_too_high, "SGD with a rate of 2", "learning_rate_too_high"),
    "missing_zero_grad": (missing_zero_grad, "gradients never cleared", "missing_zero_grad"),
    "redundant_softmax": (redundant_softmax, "softmax before cross-entropy", "redundant_softmax"),
    "loss_shape_mismatch": (loss_shape_mismatch, "(64, 1) minus (64,)", "loss_shape_mismatch"),
    "parameters_not_in_optimizer": (
        parameters_not_in_optimizer, "two layers left out of the optimizer", "parameters_not_in_optimizer",
    ),
    "vanishing_depth": (vanishing_depth, "thirteen sigmoid layers", "vanishing_depth saturating_activation"),
    "healthy": (healthy, "nothing", ""),
}  # fmt: skip


def train(program: Program, steps: int, each: Callable[[int, nn.Module, Tensor], None] | None = None) -> dict[str, Any]:
    """Trains once; what was raised, what was warned of, the first loss that is not finite, seconds."""
    torch.manual_seed(0)
    model, _, step = program()
    found: dict[str, Any] = {"raised": None, "warned": [], "bad_loss": None}
    begin = time.thread_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for index in range(steps):
            try:
                loss = step(index)
                if each is not None:
                    each(index, model, loss)
            except (RuntimeError, ValueError) as error:
                found["raised"] = (index, str(error).splitlines()[0])
                break
            if found["bad_loss"] is None and not torch.isfinite(loss.detach()):
                found["bad_loss"] = index
        found["last"] = loss.item()
    found["seconds"] = time.thread_time() - begin
    found["warned"] = sorted({str(warning.message).strip().splitlines()[-1].strip() for warning in caught})
    return found


def bare(program: Program, steps: int, folder: Path) -> tuple[str, float]:
    found = train(program, steps)
    seen = f"loss not finite from step {found['bad_loss']}" if found["bad_loss"] is not None else "a curve"
    return _with_warnings(seen, found), found["seconds"]


def anomaly_mode(program: Program, steps: int, folder: Path) -> tuple[str, float]:
    with torch.autograd.set_detect_anomaly(True):
        found = train(program, steps)
    if found["raised"] is None:
        return "nothing", found["seconds"]
    index, message = found["raised"]
    operation = re.search(r"Function '(\w+)'", message)
    return f"step {index}: {operation.group(1) if operation else message}", found["seconds"]


def tensorboard_histograms(program: Program, steps: int, folder: Path) -> tuple[str, float]:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder / "board")) as writer:

        def each(index: int, model: nn.Module, loss: Tensor) -> None:
            writer.add_scalar("loss", loss.item(), index)
            for name, parameter in model.named_parameters():
                writer.add_histogram(name, parameter, index)
                if parameter.grad is not None:
                    writer.add_histogram(f"{name}.grad", parameter.grad, index)

        found = train(program, steps, each)
    if found["raised"] is not None:
        return f"step {found['raised'][0]}: raises “{found['raised'][1]}”", found["seconds"]
    return "curves and histograms", found["seconds"]


def wandb_watch(program: Program, steps: int, folder: Path) -> tuple[str, float]:
    import wandb

    run = wandb.init(mode="offline", project="p", dir=str(folder), settings=wandb.Settings(silent=True, console="off"))
    watched: list[nn.Module] = []

    def each(index: int, model: nn.Module, loss: Tensor) -> None:
        if not watched:
            watched.append(model)
            run.watch(model, log="all", log_freq=1)
        run.log({"loss": loss.item()})

    found = train(program, steps, each)
    run.finish()
    rows = [row for row in _history(next((folder / "wandb").glob("offline-run-*/*.wandb"))) if "loss" in row]
    most = max(sum(name.startswith("gradients/") for name in row) for row in rows)
    bad = [index for index, row in enumerate(rows) if index > 1 and (not _sound(row) or _gradients(row) < most)]
    seen = f"histograms missing or not finite from step {bad[0]}" if bad else "curves and histograms"
    return _with_warnings(seen, found), found["seconds"]


def _gradients(row: dict[str, Any]) -> int:
    return sum(name.startswith("gradients/") for name in row)


def _sound(row: dict[str, Any]) -> bool:
    return not any(str(value) in ("NaN", "Infinity", "-Infinity") for value in row.values())


def _history(file: Path) -> Iterator[dict[str, Any]]:
    """Rows of an offline run: a log of LevelDB's format with messages of W&B's own schema."""
    from wandb.proto import wandb_internal_pb2

    data, at, whole = file.read_bytes(), 7, b""
    while at + 7 <= len(data):
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
        if kind in (1, 4):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            whole = b""
            if record.HasField("history"):
                yield {"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in record.history.item}


def neuraldbg(program: Program, steps: int, folder: Path) -> tuple[str, float]:
    torch.manual_seed(0)
    begin = time.thread_time()
    with NeuralDbg(path=folder / "run.ndbg") as debugger:
        found = train(program, steps)
    seconds = max(found["seconds"], time.thread_time() - begin)
    diagnosis = debugger.diagnosis()
    if not diagnosis.hypotheses:
        return diagnosis.outcome, seconds
    best = diagnosis.hypotheses[0]
    place = f" at {best.where}" if best.where else ""
    return f"step {best.step_range[0]}: {best.cause}{place} ({best.confidence:.2f})", seconds


def _with_warnings(seen: str, found: dict[str, Any]) -> str:
    return f"{seen}; torch warns: “{found['warned'][0][:70]}…”" if found["warned"] else seen


TOOLS = {
    "bare": bare,
    "set_detect_anomaly": anomaly_mode,
    "TensorBoard histograms": tensorboard_histograms,
    "W&B watch": wandb_watch,
    "NeuralDBG": neuraldbg,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.comparison", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--only", default="", help="programs, separated by commas")
    options = parser.parse_args()
    torch.set_num_threads(1)
    chosen = options.only.split(",") if options.only else list(PROGRAMS)
    judges = list(BASELINES)
    print("| planted | " + " | ".join([*TOOLS, *judges]) + " |")
    print("| --- " * (1 + len(TOOLS) + len(judges)) + "|", flush=True)
    costs: dict[str, list[float]] = {name: [] for name in TOOLS}
    for name in chosen:
        program, planted, _ = PROGRAMS[name]
        cells, seconds = [planted], {}
        with tempfile.TemporaryDirectory() as folder:
            for tool, run in TOOLS.items():
                place = Path(folder) / tool.replace(" ", "_")
                place.mkdir()
                said, seconds[tool] = run(program, options.steps, place)
                cells.append(said)
            trace = read_trace(Path(folder) / "NeuralDBG" / "run.ndbg")
        for judge in judges:
            answer = BASELINES[judge](trace)
            cells.append(f"step {answer['step']}: {answer['cause']}" if answer else "nothing")
        print("| " + " | ".join(cells) + " |", flush=True)
        if "raised" not in cells[3] and not cells[2].startswith("step"):
            for tool in TOOLS:
                costs[tool].append(seconds[tool] / seconds["bare"])
    print()
    for tool, ratios in costs.items():
        if ratios:
            print(
                f"- cost of {tool}: {sorted(ratios)[len(ratios) // 2]:.2f} of a bare run (median of {len(ratios)} runs)"
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
