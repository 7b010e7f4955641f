"""Parameters that are spread over processes: FSDP2, tensor parallelism, and both on a mesh of two dimensions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("this torch was built without gloo", allow_module_level=True)
if not hasattr(pytest.importorskip("torch.distributed.fsdp"), "fully_shard"):
    pytest.skip("this torch has no fully_shard", allow_module_level=True)

from helpers.processes import side_by_side, torchrun  # noqa: E402
from neuraldbg.cli._ranks import judge_together, traces_of_last_run  # noqa: E402
from neuraldbg.measures.ranks import merged  # noqa: E402
from neuraldbg.trace_store.reader import read_trace  # noqa: E402

#: What all programs below share: a model, and the ways to spread it. ``center`` is a buffer, which nothing shards.
MODEL = """
import os, sys, torch, torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from neuraldbg import NeuralDbg
from neuraldbg.integrations.distributed import compare_ranks

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
last = world - 1

class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 16), nn.Linear(16, 1)
        self.register_buffer("center", torch.zeros(6))

    def forward(self, x):
        return self.second(torch.tanh(self.first(x - self.center)))

PLAN = {"first": ColwiseParallel(), "second": RowwiseParallel()}
flat = init_device_mesh("cpu", (world,))
grid = init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("outer", "inner"))

def sharded(model):
    fully_shard(model, mesh=flat)
    return model

def sharded_by_layer(model):
    # The layers' weights are put together for their forward alone, and freed after it.
    fully_shard(model.first, mesh=flat)
    fully_shard(model.second, mesh=flat)
    fully_shard(model, mesh=flat)
    return model

def tensor_parallel(model):
    return parallelize_module(model, flat, PLAN)

def hybrid(model):
    fully_shard(model, mesh=grid)
    return model

def sharded_and_tensor_parallel(model):
    parallelize_module(model, grid["inner"], PLAN)
    fully_shard(model, mesh=grid["outer"])
    return model

def rows(kind):
    parts = {"tensor_parallel": 1, "sharded_and_tensor_parallel": 2}.get(kind, world)
    part = rank * parts // world
    return slice(part * 16 // parts, (part + 1) * 16 // parts)

def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor

def move(kind, model):
    # What can differ between ranks: a copy of a part, a parameter that all hold, a buffer.
    moved = {"hybrid": model.first.weight, "tensor_parallel": model.second.bias}.get(kind, model.center)
    with torch.no_grad():
        local(moved).add_(0.5)

def train(kind, model, rate=0.05, steps=12, bad_step=-1, moved_step=-1):
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    generator = torch.Generator().manual_seed(1)
    for step in range(steps):
        inputs = torch.randn(16, 6, generator=generator)[rows(kind)]
        targets = inputs.sum(1, keepdim=True)
        if step == bad_step and rank == last:
            inputs = inputs.clone()
            inputs[3, 2] = float("nan")
        if step == moved_step and rank == last:
            move(kind, model)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()

def network(kind):
    torch.manual_seed(0)
    return globals()[kind](Network())

CASES = {
    "healthy": {}, "nan": {"bad_step": 7, "steps": 30}, "rate": {"rate": 3.0, "steps": 40},
    "moved": {"moved_step": 4, "steps": 40},
}

def record(kind, case):
    os.makedirs(f"{kind}-{case}", exist_ok=True)
    model = network(kind)
    with NeuralDbg(model, path=f"{kind}-{case}/rank{rank}.ndbg") as debugger, compare_ranks(debugger, model, every=2):
        train(kind, model, **CASES[case])
    return model
"""

TWO = """
for kind in ("sharded", "sharded_by_layer", "tensor_parallel"):
    for case in CASES:
        watched = record(kind, case)
        if case == "healthy":
            plain = network(kind)
            train(kind, plain)
            for one, other in zip(watched.parameters(), plain.parameters()):
                assert torch.equal(local(one), local(other))
dist.destroy_process_group()
"""

FOUR = """
for kind in ("sharded", "hybrid", "sharded_and_tensor_parallel"):
    for case in CASES:
        record(kind, case)
dist.destroy_process_group()
"""

#: Collectives that a training starts, watched in all three ways and not at all. One more would be met by another one of
#: the training on a rank that is watched otherwise at that step, or has died.
COLLECTIVES = """
import json
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

class Collectives(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # it comes again, with the parts and with the collectives that it makes
        self.count += "c10d" in function.namespace
        return function(*args, **(kwargs or {}))

os.makedirs("counted", exist_ok=True)

def collectives(kind, case, **settings):
    model = network(kind)
    with Collectives() as counted:
        if settings:
            with NeuralDbg(model, path=f"counted/{kind}-{case}-{rank}.ndbg", **settings):
                train(kind, model, **CASES[case])
        else:
            train(kind, model, **CASES[case])
    return counted.count

counts = {
    f"{kind} {case}": [
        collectives(kind, case),
        collectives(kind, case, preset="every_step"),
        collectives(kind, case, allowance=0, budget=0),
        collectives(kind, case, allowance=0, budget=0, on_non_finite="skip"),
    ]
    for kind in ("sharded", "sharded_by_layer", "tensor_parallel") for case in ("healthy", "nan", "rate")
}
with open(f"counts{rank}.json", "w") as file:
    json.dump(counts, file)
dist.destroy_process_group()
"""

#: One of two ranks is killed in the middle of a training whose every step needs both.
KILLED = """
import signal, threading, time
threading.Timer(400, lambda: os._exit(17)).start()  # whatever waits for ever is told from what ends
model = network("sharded")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
with NeuralDbg(model, path=f"rank{rank}.ndbg") as debugger, compare_ranks(debugger, model, every=2, timeout_seconds=20):
    try:
        for step in range(200):
            inputs = torch.ones(4, 6)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True)).backward()
            optimizer.step()
            if step == 30 and rank == 1:
                time.sleep(1.5)
                os.kill(os.getpid(), signal.SIGKILL)
    except RuntimeError:
        print("the training's own collective failed")
print("left the block")
sys.stdout.flush()
os._exit(0)
"""


def trained(folder: Path, program: str, processes: int = 2) -> Path:
    (folder / "train.py").write_text(MODEL + program, encoding="utf-8")
    done = torchrun(folder, "train.py", processes=processes)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> Path:
    return trained(tmp_path_factory.mktemp("two"), TWO)


@pytest.fixture(scope="module")
def four(tmp_path_factory) -> Path:
    return trained(tmp_path_factory.mktemp("four"), FOUR, processes=4)


@pytest.fixture
def run(request, kind: str, ranks: int) -> Path:
    """Folder in which the trainings of one kind lie."""
    return request.getfixturevalue({2: "two", 4: "four"}[ranks]) / kind


def of(run: Path, case: str) -> list[Path]:
    return traces_of_last_run(run.with_name(f"{run.name}-{case}"))


everywhere = pytest.mark.parametrize(
    ("kind", "ranks"),
    [
        ("sharded", 2), ("sharded_by_layer", 2), ("tensor_parallel", 2),
        ("sharded", 4), ("hybrid", 4), ("sharded_and_tensor_parallel", 4),
    ],
)  # fmt: skip


@everywhere
def test_norms_are_those_of_one_process_on_the_whole_batch(run, ranks, norms):
    paths = of(run, "healthy")
    assert len(paths) == ranks
    assert not any(read_trace(path).facts("observer.failure") for path in paths)
    _, diagnosis, whole = judge_together(paths)
    steps, seen = whole.scalar("gradient.norm")
    assert steps.tolist() == list(range(12))
    np.testing.assert_allclose(seen, norms, rtol=1e-4)
    assert any(note.startswith("gradient norm over all parts: ") for note in diagnosis.notes)


@everywhere
def test_no_rank_of_a_healthy_run_raises_an_alarm(run, ranks):
    _, diagnosis, _ = judge_together(of(run, "healthy"))
    assert (diagnosis.outcome, diagnosis.hypotheses) == ("healthy", ())
    assert not any(read_trace(path).facts("ranks.diverged") for path in of(run, "healthy"))


@everywhere
def test_the_rank_and_step_of_a_bad_batch_are_named(run, ranks):
    path, diagnosis, _ = judge_together(of(run, "nan"))
    assert (path.name, diagnosis.hypotheses[0].cause) == (f"rank{ranks - 1}.ndbg", "nan_in_input")
    assert diagnosis.symptom.step == diagnosis.hypotheses[0].step_range[0] == 7
    others = [note for note in diagnosis.notes if note.startswith("rank ") and f"rank {ranks - 1}," not in note]
    assert len(others) == ranks - 1 and all(note.endswith(f"It came from rank {ranks - 1}.") for note in others)


@everywhere
def test_a_learning_rate_that_is_too_high_is_told(run, ranks):
    _, diagnosis, _ = judge_together(of(run, "rate"))
    assert diagnosis.hypotheses[0].cause == "learning_rate_too_high"
    assert diagnosis.hypotheses[0].step_range[0] <= 2


@everywhere
def test_the_copy_that_was_moved_is_named(run, ranks, kind):
    name = {"hybrid": "first.weight", "tensor_parallel": "second.bias"}.get(kind, "center")
    path, diagnosis, _ = judge_together(of(run, "moved"))
    best = diagnosis.hypotheses[0]
    assert (path.name, best.cause) == (f"rank{ranks - 1}.ndbg", "rank_divergence")
    assert f"'{name}' of rank {ranks - 1} differs" in str(best)
    for path in of(run, "moved"):
        first = read_trace(path).facts("ranks.diverged")[0]
        # Moved at step 4, compared after every second step.
        assert (first.step, first.data["parameter"], first.data["ranks"]) == (5, name, [ranks - 1])


def test_a_parameter_that_every_rank_holds_is_counted_once(two):
    traces = [read_trace(path) for path in of(two / "tensor_parallel", "healthy")]
    shards = {place.name: place.details["shard"] for place in traces[0].places if "shard" in place.details}
    # The bias of the second layer belongs to the sum over both ranks, and each holds all of it.
    assert shards["second.bias"] == {"ranks": 2, "copies": 2, "held": 1}
    assert shards["first.weight"] == {"ranks": 2, "copies": 1, "held": 48}
    whole = merged(traces)
    for trace in traces:
        own = trace.series("parameter.gradient_norm").column("second.bias")[1]
        np.testing.assert_allclose(whole.series("parameter.gradient_norm").column("second.bias")[1], own)
    part = traces[0].series("parameter.weight_norm").column("first.weight")[1]
    assert (whole.series("parameter.weight_norm").column("first.weight")[1] > 1.05 * part).all()


def test_a_part_without_a_trace_leaves_no_norm_that_is_too_small(two):
    whole = merged([read_trace(of(two / "tensor_parallel", "healthy")[0])])
    assert not whole.series("gradient.norm")
    assert "first.weight" not in whole.series("parameter.gradient_norm").names


def test_a_rank_that_holds_no_row_of_a_parameter_measures_nothing_of_it(two):
    traces = [read_trace(path) for path in of(two / "sharded", "healthy")]
    held = [trace.place("parameter", "second.bias").details["shard"]["held"] for trace in traces]
    assert held == [1, 0]
    assert [("second.bias" in trace.series("parameter.weight_norm").names) for trace in traces] == [True, False]


def test_watching_starts_no_collective(tmp_path):
    folder = trained(tmp_path, COLLECTIVES)
    for rank in range(2):
        counts = json.loads((folder / f"counts{rank}.json").read_text())
        assert all(bare > 0 for bare, *_ in counts.values())
        assert {name: found for name, found in counts.items() if len(set(found)) > 1} == {}


def test_a_rank_whose_partner_was_killed_leaves_the_block(tmp_path):
    (tmp_path / "train.py").write_text(MODEL + KILLED, encoding="utf-8")
    left, dead = side_by_side(tmp_path, "train.py")
    assert (left[0], dead[0]) == (0, -9), left[2][-2000:]
    assert left[1].split("\n")[:2] == ["the training's own collective failed", "left the block"]
    paths = traces_of_last_run(tmp_path)
    traces = [read_trace(path) for path in paths]
    assert [trace.steps >= 30 for trace in traces] == [True, True]
    assert traces[0].meta["finished"] is not None and traces[1].meta["finished"] is None
    _, diagnosis, whole = judge_together(paths)
    assert diagnosis.notes[0].startswith("of 2 ranks, this is rank ")
    assert len(whole.scalar("gradient.norm")[0]) >= 30
