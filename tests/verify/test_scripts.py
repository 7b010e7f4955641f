"""Scripts of every kind are run again, in an interpreter of their own and a copy of their folder."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

import neuraldbg
from neuraldbg.verify._engine import carry_out_all, in_processes
from neuraldbg.verify._replay import Plan, Replay

COMMAND = [sys.executable, "-m", "neuraldbg.cli._replay"]
SOURCE = str(Path(neuraldbg.__file__).parents[1])

LOOP = """
import json, os, shutil, sys, torch
from pathlib import Path
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)

def train(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in batches:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
"""
NOT_DETERMINISTIC = """
torch.seed()
train(nn.Linear(4, 1), (torch.randn(8, 4) for _ in range(5)))
"""
WITH_WORKERS = """
class Rows(Dataset):
    def __len__(self):
        return 48
    def __getitem__(self, index):
        return torch.randn(4, generator=torch.Generator().manual_seed(index))

if __name__ == "__main__":
    torch.manual_seed(0)
    train(nn.Linear(4, 1), DataLoader(Rows(), batch_size=8, num_workers=2))
"""
READS_ITS_FILES = """
here = Path(__file__).resolve().parent
rows = torch.tensor(json.loads((here / "rows.json").read_text()))
assert Path("rows.json").read_text() == (here / "rows.json").read_text()
torch.manual_seed(0)
train(nn.Linear(4, 1), rows.split(2))
"""
TAKES_ARGUMENTS = """
assert sys.argv[0].endswith("train.py") and sys.argv[1] == "--rounds"
torch.manual_seed(0)
train(nn.Linear(4, 1), torch.randn(int(sys.argv[2]), 8, 4))
"""
TWO_MODELS = """
torch.manual_seed(0)
first, second = nn.Linear(4, 4), nn.Linear(4, 4)
optimizers = [torch.optim.SGD(model.parameters(), lr=0.01) for model in (first, second)]
for _ in range(5):
    batch = torch.randn(8, 4)
    optimizers[0].zero_grad()
    first(batch).square().mean().backward()
    optimizers[0].step()
    optimizers[1].zero_grad()
    (second(first(batch).detach()) - 1).square().mean().backward()
    optimizers[1].step()
"""
SAVES_CHECKPOINTS = """
torch.manual_seed(0)
model = nn.Linear(4, 1)
here = Path(os.environ["FOLDER"])
for epoch in range(2):
    train(model, torch.randn(3, 8, 4))
    torch.save(model.state_dict(), f"epoch_{epoch}.pt")
    torch.save({"epoch": epoch}, here / "last.pt")
    os.makedirs(here / "checkpoints", exist_ok=True)
    # Written whole or not at all, as long runs do; the one before goes.
    torch.save({"epoch": epoch}, here / "checkpoints" / "best.part")
    os.replace(here / "checkpoints" / "best.part", here / "checkpoints" / f"best_{epoch}.pt")
    for earlier in (here / "checkpoints").glob("best_*.pt"):
        if earlier.name != f"best_{epoch}.pt":
            earlier.unlink()
assert os.listdir(here / "checkpoints") == ["best_1.pt"]
shutil.rmtree(here / "checkpoints")
assert not (here / "checkpoints").exists()
(here / "last.pt").rename(here / "kept.pt")
assert not os.path.exists(here / "last.pt")
torch.save({"epoch": 1}, here / "last.pt")
assert torch.load("epoch_1.pt").keys() == model.state_dict().keys()
assert torch.load(here / "last.pt") == {"epoch": 1}
"""


def replays(folder: Path, source: str, plans: list[Plan], arguments: list[str]) -> list[Replay]:
    (folder / "train.py").write_text(LOOP + source)
    script = {"script": "train.py", "module": None, "arguments": arguments, "shown": "train.py"}
    done = carry_out_all(plans, in_processes(folder, COMMAND, script), 1, lambda plan, replay: None)
    return [replay for replay in done if replay is not None]


def content(folder: Path) -> dict[Path, tuple[bytes, int]]:
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    monkeypatch.setenv("FOLDER", str(tmp_path))
    (tmp_path / "rows.json").write_text("[[1.0, 2.0, 3.0, 4.0], [0.5, 0.0, 0.5, 0.0], [1.0, 1.0, 1.0, 1.0]]")
    (tmp_path / "last.pt").write_text("a checkpoint of days of training")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "arguments", "losses"),
    [
        pytest.param(WITH_WORKERS, [], [6], id="workers"),
        pytest.param(READS_ITS_FILES, [], [2], id="own files"),
        pytest.param(TAKES_ARGUMENTS, ["--rounds", "7"], [7], id="arguments"),
        pytest.param(TWO_MODELS, [], [5, 5], id="two models"),
        pytest.param(SAVES_CHECKPOINTS, [], [6], id="checkpoints"),
    ],
)
def test_it_ends_as_it_would_and_the_users_files_stay_as_they_are(folder, source, arguments, losses):
    before = content(folder)
    (replay,) = replays(folder, source, [Plan("lower_learning_rate", steps=100, limit=300)], arguments)
    assert (replay.outcome, replay.error) == ("finished", "")
    assert [len(values) for _, values in replay.streams.values()] == losses
    assert all(math.isfinite(value) for _, values in replay.streams.values() for value in values)
    # The intervention was at work on each step of each optimizer.
    assert replay.acted == sum(losses)
    after = content(folder)
    del after[folder / "train.py"]
    assert after == before


def test_a_script_that_is_not_deterministic_ends_each_time_with_other_losses(folder):
    one, other = replays(folder, NOT_DETERMINISTIC, [Plan(None, steps=100, limit=300)] * 2, [])
    values = [next(iter(replay.streams.values()))[1] for replay in (one, other)]
    assert [replay.outcome for replay in (one, other)] == ["finished", "finished"]
    assert [len(one) for one in values] == [5, 5] and values[0] != values[1]
