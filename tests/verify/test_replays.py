"""Runs of real scripts and functions: what they may do, and what may go wrong in them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

import neuraldbg
from neuraldbg.errors import UsageError
from neuraldbg.records import CausalHypothesis, Diagnosis, Symptom
from neuraldbg.trace_store import read_verifications
from neuraldbg.trace_store.reader import read_trace
from neuraldbg.verify._engine import carry_out_all, in_forks, in_processes
from neuraldbg.verify._replay import Plan, Replay, shifted_seeds
from neuraldbg.verify._workspace import copy_folder
from verify.programs import PROGRAMS

COMMAND = [sys.executable, "-m", "neuraldbg.cli._replay"]
SOURCE = str(Path(neuraldbg.__file__).parents[1])


@pytest.fixture(autouse=True)
def small_folder(tmp_path, monkeypatch):
    """Each replay copies the working folder."""
    monkeypatch.chdir(tmp_path)


def run_all(start, plans, jobs=1):
    return carry_out_all(plans, start, jobs, lambda plan, replay: None)


def losses(replay: Replay) -> list[float]:
    assert replay.usable, replay
    return next(iter(replay.streams.values()))[1]


def hypothesis(cause: str, confidence: float = 0.5, step: int = 0) -> CausalHypothesis:
    return CausalHypothesis(cause, "it fails", None, None, (step, step), confidence)


# scripts -------------------------------------------------------------------------------------------------------------

#: Reads its own file, takes arguments, has workers, trains two models, and writes wherever it can.
SCRIPT = """
import argparse, json, os, sys, tempfile, torch
from pathlib import Path
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        x = torch.randn(4, generator=generator)
        return x, x.sum(0, keepdim=True)

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    rate = parser.parse_args().rate
    here = Path(__file__).resolve().parent
    settings = json.loads((here / "settings.json").read_text())
    original = Path(settings["original"])
    torch.save({"step": 0}, original / "model.pt")
    torch.save({"step": 0}, "model.pt")
    (original / "log.txt").write_text("overwritten")
    with open(original / "notes.txt", "a") as notes:
        notes.write("more")
    with open("big.bin", "r+b") as big:
        big.write(b"changed")
    os.makedirs(original / "runs" / "1", exist_ok=True)
    (original / "runs" / "1" / "log").write_text("x")
    for model in (nn.Linear(4, 1), nn.Linear(4, 1)):
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        for epoch in range(2):
            for x, y in DataLoader(Rows(), batch_size=16, num_workers=1):
                loss = nn.functional.mse_loss(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    assert (original / "notes.txt").read_text() == "minemore"
    os.remove(original / "log.txt.keep")
    assert not (original / "log.txt.keep").exists()
    os.remove(settings["elsewhere"])

if __name__ == "__main__":
    main()
"""


def test_a_script_reads_and_writes_its_files_and_the_users_stay_as_they_are(tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    (tmp_path / "train.py").write_text(SCRIPT)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "file"
    elsewhere.write_text("mine")
    (tmp_path / "settings.json").write_text(json.dumps({"original": str(tmp_path), "elsewhere": str(elsewhere)}))
    for name in ("log.txt", "notes.txt", "model.pt", "log.txt.keep"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "big.bin").write_bytes(b"original" + bytes(2_000_000))
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    script = {"script": "train.py", "module": None, "arguments": ["--rate", "0.01"], "shown": "train.py"}
    (replay,) = run_all(in_processes(tmp_path, COMMAND, script), [Plan(None, steps=500, limit=120)])
    # What can't be redirected is refused; until then both models were trained, four batches in two epochs each.
    assert replay.outcome == "crashed" and "outside of its folder; the file was not touched" in replay.error
    assert str(elsewhere) in replay.error and elsewhere.read_text() == "mine"
    ((_, values),) = replay.streams.values()
    assert len(values) == 16 and all(map(math.isfinite, values))
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()} == before


#: Watches its own training, between steps that it does not watch.
WATCHES_ITSELF = """
import torch
from torch import nn
from neuraldbg import NeuralDbg

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()

train(2)
with NeuralDbg(model, path="own.ndbg") as debugger:
    train(5)
train(1)
"""


def test_a_script_that_watches_itself_is_judged_by_its_own_trace(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "train.py").write_text(WATCHES_ITSELF)
    trace = tmp_path / "first.ndbg"
    script = {"script": "train.py", "module": None, "arguments": [], "shown": "train.py", "trace": str(trace)}
    plan = Plan(None, steps=500, limit=120)
    (replay,) = run_all(in_processes(tmp_path / "folder", COMMAND, script), [plan])
    assert sum(len(values) for _, values in replay.streams.values()) == 8
    assert read_trace(trace).steps == 5


def test_the_command_confirms_the_cause_and_shows_the_fix(tmp_path):
    (tmp_path / "train.py").write_text(
        "import sys, torch\n"
        "import torch.nn.functional as F\n"
        "torch.set_num_threads(1)\n"
        "model = torch.nn.Linear(8, 4)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.5)\n"
        "for _ in range(int(sys.argv[1])):\n"
        "    x = torch.randn(64, 8)\n"
        "    p = F.softmax(model(x), dim=1)\n"
        "    loss = F.cross_entropy(p, x[:, :4].argmax(1))\n"
        "    optimizer.zero_grad()\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
        "open('done.txt', 'w').write('done')\n"
    )
    environment = {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}
    arguments = ["verify", "--top", "1", "--seeds", "2", "--steps", "60", "--json", "--jobs", "2"]
    arguments += ["--report", "run.html", "train.py", "100"]
    done = subprocess.run(
        [sys.executable, "-m", "neuraldbg", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (verdict,) = json.loads(done.stdout)["verification"]["verdicts"]
    assert verdict["cause"] == "redundant_softmax" and verdict["verdict"] == "confirmed"
    assert verdict["posterior"] >= verdict["prior"]
    assert verdict["fix"][-3:] == [
        "train.py:8",
        "- p = F.softmax(model(x), dim=1)",
        "+ p = model(x)",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.html", "train.py"]
    page = (tmp_path / "run.html").read_text("utf-8")
    assert "Confirmed by drop_redundant_softmax: effect 0." in page and '<svg class="effect confirmed"' in page


#: Before any intervention.
ORIGINAL = nn.Module.__call__

# functions -----------------------------------------------------------------------------------------------------------


def crash() -> None:
    raise ValueError("no such column")


def hang() -> None:
    time.sleep(60)


def leave() -> None:
    os.kill(os.getpid(), 9)


def too_large() -> None:
    torch.empty(10**15)


@pytest.mark.parametrize(
    ("train", "outcome", "words"),
    [
        (crash, "crashed", "ValueError: no such column"),
        (hang, "hung", "no end after 1 s"),
        (leave, "killed", "SIGKILL"),
        (too_large, "out of memory", ""),
    ],
)
def test_what_goes_wrong_is_a_line(train, outcome, words):
    (replay,) = run_all(in_forks(train), [Plan(None, limit=1 if train is hang else 60)])
    assert replay.outcome == outcome
    assert words in replay.error


def test_a_crash_under_an_intervention_is_one_line_of_the_table():
    def train_or_crash():
        if nn.Module.__call__ is not ORIGINAL:  # only what changes the inputs acts around calls
            raise RuntimeError("a replay that crashes")
        PROGRAMS["learning_rate_too_high"][0]()

    hypotheses = [hypothesis("unnormalized_input", 0.3), hypothesis("learning_rate_too_high", 0.5)]
    result = neuraldbg.verify(train_or_crash, hypotheses, seeds=2, jobs=2, steps=40)
    crashed, confirmed = result.verdicts
    assert crashed.verdict == "inconclusive" and "a replay that crashes" in crashed.reason
    assert crashed.trouble == ("seed 0: crashed (RuntimeError: a replay that crashes)",)
    assert confirmed.verdict == "confirmed"


def test_a_function_that_is_not_deterministic_is_judged_over_its_seeds():
    def train():
        torch.seed()
        PROGRAMS["missing_optimizer_step"][0]()

    diagnosis = Diagnosis(
        "failed",
        "It fails.",
        80,
        symptom=Symptom("loss_plateau", "It stays.", 0),
        hypotheses=(hypothesis("missing_optimizer_step", 0.6), hypothesis("missing_zero_grad", 0.2)),
    )
    seen = []
    result = neuraldbg.verify(train, diagnosis, seeds=3, progress=lambda *now: seen.append(now))
    right, wrong = result.verdicts
    assert right.verdict == "confirmed" and right.failed_with == (0, 3) and right.failed_without == (3, 3)
    assert 0 < right.interval[0] <= right.effect <= right.interval[1]
    assert right.posterior > right.prior and wrong.posterior < wrong.prior
    assert result.best is right and result.confirmed == (right,)
    assert seen[-1][0] == result.runs and wrong.verdict != "confirmed"


def test_a_cause_that_nothing_removes_is_inconclusive_and_says_what_to_do():
    (verdict,) = neuraldbg.verify(
        PROGRAMS["missing_optimizer_step"][0], hypothesis("uninformative_labels"), seeds=1
    ).verdicts
    assert verdict.verdict == "inconclusive" and verdict.intervention is None
    assert "20 samples" in verdict.instead


def test_ctrl_c_keeps_what_is_done():
    def progress(done, expected, name):
        if done == 3:
            raise KeyboardInterrupt

    program = PROGRAMS["missing_optimizer_step"][0]
    result = neuraldbg.verify(
        program, hypothesis("missing_optimizer_step"), seeds=2, steps=40, progress=progress, jobs=1
    )
    assert result.interrupted and result.runs == 3
    assert result.placebo == (2, 2)
    assert not math.isnan(result.verdicts[0].effect)


def test_verify_asks_for_a_function_and_for_sound_numbers():
    with pytest.raises(UsageError, match="a function"):
        neuraldbg.verify("train.py", hypothesis("loss_sign"))
    with pytest.raises(UsageError, match="at least 1"):
        neuraldbg.verify(crash, hypothesis("loss_sign"), seeds=0)
    with pytest.raises(UsageError, match="clip_gradients"):
        neuraldbg.verify(crash, hypothesis("loss_sign"), only="nothing")
    assert neuraldbg.verify(crash, Diagnosis("healthy", "Nothing failed.", 9)).verdicts == ()


def test_a_shift_changes_every_seed_and_nothing_for_good():
    import random

    import numpy

    def draw():
        torch.manual_seed(1)
        random.seed(1)
        numpy.random.seed(1)
        return (
            float(torch.rand(())),
            random.random(),
            float(numpy.random.rand()),
            float(numpy.random.default_rng(1).random()),
        )

    plain = draw()
    with shifted_seeds(0):
        assert draw() == plain
    with shifted_seeds(1):
        shifted = draw()
    assert all(one != other for one, other in zip(plain, shifted))
    assert draw() == plain


def test_large_files_are_links_and_small_ones_are_copies(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "data").mkdir(parents=True)
    (source / ".git").mkdir()
    (source / "data" / "small").write_text("small")
    (source / "data" / "large").write_bytes(bytes(1_500_000))
    copy_folder(source, target)
    assert (target / "data" / "large").is_symlink() and not (target / "data" / "small").is_symlink()
    assert not (target / ".git").exists()


def test_a_block_that_is_verified_keeps_the_result_with_its_trace(tmp_path):
    def train():
        torch.manual_seed(0)
        model = nn.Linear(8, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for _ in range(60):
            inputs = torch.randn(64, 8)
            loss = nn.functional.cross_entropy(model(inputs).softmax(1), inputs[:, :4].argmax(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    with neuraldbg.NeuralDbg(path=tmp_path / "run.ndbg") as dbg:
        train()
    result = dbg.verify(train, top=1, seeds=2, steps=60, jobs=2)
    (verdict,) = result.verdicts
    assert verdict.cause == "redundant_softmax" and verdict.verdict == "confirmed"
    assert dbg.diagnosis().tested("redundant_softmax") == (verdict, result)
    assert read_verifications(tmp_path / "run.ndbg") == (result,)
