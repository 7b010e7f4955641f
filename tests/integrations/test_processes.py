"""Several processes that train together: DistributedDataParallel on gloo, started by torchrun as users do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("this torch was built without gloo", allow_module_level=True)

from helpers.processes import side_by_side, torchrun  # noqa: E402
from neuraldbg.cli._ranks import judge_together, traces_of_last_run  # noqa: E402
from neuraldbg.cli.explain import command  # noqa: E402
from neuraldbg.trace_store.reader import read_trace  # noqa: E402

#: Three trainings in one launch, for each process has to import torch: healthy, NaN on rank 1, a replica that is moved.
TRAINING = """
import os, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from neuraldbg import NeuralDbg
from neuraldbg.integrations.distributed import compare_ranks

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()

def train(name, watched=True, bad_step=-1, moved_step=-1, steps=12):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    def loop():
        generator = torch.Generator().manual_seed(1)
        for step in range(steps):
            inputs = torch.randn(16, 6, generator=generator)[rank * 8 : rank * 8 + 8]
            targets = inputs.sum(1, keepdim=True)
            if step == bad_step and rank == 1:
                inputs = inputs.clone()
                inputs[3, 2] = float("nan")
            if step == moved_step and rank == 1:
                with torch.no_grad():
                    model.module[2].weight.add_(0.1)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
    if not watched:
        loop()
        return model
    os.makedirs(name, exist_ok=True)
    with NeuralDbg(model, path=f"{name}/rank{rank}.ndbg") as debugger, compare_ranks(debugger, model, every=2):
        loop()
    return model

watched, plain = train("healthy"), train("", watched=False)
for one, other in zip(watched.state_dict().values(), plain.state_dict().values()):
    assert torch.equal(one, other)
train("nan", bad_step=7, steps=30)
train("moved", moved_step=4, steps=40)

dist.destroy_process_group()
"""

KILLED = """
import os, signal, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = TensorDataset(torch.randn(400, 6), torch.randn(400, 1))
    step = 0
    for inputs, targets in DataLoader(data, batch_size=4, num_workers=1):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        step += 1
        if step == 60 and rank == 1:
            import time
            time.sleep(1.5)
            os.kill(os.getpid(), signal.SIGKILL)
"""


#: Four replicas: their norms, a bad batch on rank 2, and a learning rate that is too high for all of them.
FOUR = """
import os, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from neuraldbg import NeuralDbg

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
for name, rate, bad_step, steps in (("healthy", 0.05, -1, 12), ("nan", 0.05, 9, 30), ("rate", 3.0, -1, 40)):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    generator = torch.Generator().manual_seed(1)
    os.makedirs(name, exist_ok=True)
    with NeuralDbg(model, path=f"{name}/rank{rank}.ndbg"):
        for step in range(steps):
            inputs = torch.randn(16, 6, generator=generator)[rank * 4 : rank * 4 + 4]
            targets = inputs.sum(1, keepdim=True)
            if step == bad_step and rank == 2:
                inputs = inputs.clone()
                inputs[1, 4] = float("nan")
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
dist.destroy_process_group()
"""

#: Started without torchrun, which would end the rank that is left. Nothing but our own exchange joins the ranks.
LEFT_ALONE = """
import os, signal, sys, torch, torch.distributed as dist
from torch import nn
from neuraldbg import NeuralDbg
from neuraldbg.integrations.distributed import compare_ranks

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
with NeuralDbg(model, path=f"rank{rank}.ndbg") as debugger, compare_ranks(debugger, model, every=2, timeout_seconds=20):
    for step in range(40):
        inputs = torch.ones(4, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True)).backward()
        optimizer.step()
        if step == 10 and rank == 1:
            import time
            time.sleep(1.5)
            os.kill(os.getpid(), signal.SIGKILL)
print("trained on")
sys.stdout.flush()
os._exit(0)  # the process group of two has lost a member, and would wait for it
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "train.py").write_text(TRAINING, encoding="utf-8")
    done = torchrun(folder, "train.py")
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


def test_norms_are_those_of_one_process_on_the_whole_batch(trained, norms):
    paths = traces_of_last_run(trained / "healthy")
    assert [path.name for path in paths] == ["rank0.ndbg", "rank1.ndbg"]
    for path in paths:
        trace = read_trace(path)
        _, seen = trace.scalar("gradient.norm")
        np.testing.assert_allclose(seen, norms, rtol=1e-4)
        assert not trace.facts("ranks.diverged") and not trace.facts("observer.failure")


def test_explain_of_a_folder_names_the_rank(trained, capsys):
    assert command(str(trained / "nan")) == 1
    said = capsys.readouterr().out
    assert "of 2 ranks, this is rank 1, at which the failure began" in said
    assert "NaN" in said


def test_the_rank_and_step_of_a_bad_batch_are_named(trained):
    path, diagnosis, _ = judge_together(traces_of_last_run(trained / "nan"))
    assert path.name == "rank1.ndbg"
    assert diagnosis.hypotheses[0].cause == "nan_in_input"
    assert diagnosis.symptom.step == 7
    assert diagnosis.notes[0] == "of 2 ranks, this is rank 1, at which the failure began"


def test_a_replica_that_was_moved_is_found(trained):
    for path in traces_of_last_run(trained / "moved"):
        first = read_trace(path).facts("ranks.diverged")[0]
        assert first.data["parameter"].endswith("2.weight")
        assert first.data["ranks"] == [1]
        assert first.step == 5  # moved at step 4, compared after every second step
    _, diagnosis, _ = judge_together(traces_of_last_run(trained / "moved"))
    assert diagnosis.hypotheses[0].cause == "rank_divergence"


def test_a_killed_rank_leaves_a_trace_and_a_loader_leaves_none(tmp_path):
    (tmp_path / "train.py").write_text(KILLED, encoding="utf-8")
    done = torchrun(tmp_path, "-m", "neuraldbg", "run", "train.py")
    assert done.returncode != 0
    paths = traces_of_last_run(tmp_path / ".neuraldbg")
    assert len(list((tmp_path / ".neuraldbg").glob("*.ndbg"))) == len(paths) == 2
    killed = read_trace(paths[1])
    assert killed.meta["ranks"]["rank"] == 1 and killed.meta["finished"] is None
    assert 40 <= killed.steps <= 60
    _, diagnosis, _ = judge_together(paths)
    assert diagnosis.notes[0].startswith("of 2 ranks, this is rank ")


@pytest.fixture(scope="module")
def four(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("four")
    (folder / "train.py").write_text(FOUR, encoding="utf-8")
    done = torchrun(folder, "train.py", processes=4)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


def test_four_ranks_have_the_norms_of_one_process(four, norms):
    paths = traces_of_last_run(four / "healthy")
    assert len(paths) == 4
    _, diagnosis, whole = judge_together(paths)
    np.testing.assert_allclose(whole.scalar("gradient.norm")[1], norms, rtol=1e-4)
    assert diagnosis.outcome != "failed"


def test_the_bad_rank_of_four_is_named(four):
    path, diagnosis, _ = judge_together(traces_of_last_run(four / "nan"))
    assert (path.name, diagnosis.hypotheses[0].cause, diagnosis.symptom.step) == ("rank2.ndbg", "nan_in_input", 9)


def test_a_learning_rate_that_is_too_high_is_told_on_four_ranks(four):
    _, diagnosis, _ = judge_together(traces_of_last_run(four / "rate"))
    assert diagnosis.hypotheses[0].cause == "learning_rate_too_high"
    assert diagnosis.hypotheses[0].step_range[0] <= 2


def test_a_rank_that_is_left_alone_trains_on(tmp_path):
    (tmp_path / "train.py").write_text(LEFT_ALONE, encoding="utf-8")
    left_over, dead = side_by_side(tmp_path, "train.py")
    assert dead[0] == -9
    assert left_over[1].strip().endswith("trained on"), left_over[2][-2000:]
    left, killed = (read_trace(path) for path in traces_of_last_run(tmp_path))
    assert left.steps == 40 and killed.steps >= 10
    assert left.facts("ranks.exchange_failed") and not left.facts("ranks.diverged")
