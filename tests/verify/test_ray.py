"""The same experiment on a Ray cluster of one node, which the test starts and ends."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

import neuraldbg
from neuraldbg.errors import UsageError
from neuraldbg.records import CausalHypothesis, Diagnosis, Symptom
from neuraldbg.verify import _ray
from neuraldbg.verify._engine import carry_out_all
from neuraldbg.verify._replay import Plan
from verify.programs import PROGRAMS

SOURCE = str(Path(neuraldbg.__file__).parents[1])
TESTS = str(Path(__file__).parents[1])


def test_an_engine_that_is_not_there_says_what_to_do(monkeypatch):
    with pytest.raises(UsageError, match="local, ray"):
        neuraldbg.verify(lambda: None, CausalHypothesis("loss_sign", "", None, None, (0, 0), 0.5), engine="slurm")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"pip install 'neuraldbg\[ray\]'"):
        _ray.places()


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray", reason="ray (260 MB) is an extra: pip install 'neuraldbg[ray]'")
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([SOURCE, TESTS, *filter(None, [before])])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield ray
    ray.shutdown()
    os.environ["PYTHONPATH"] = before


@pytest.fixture(autouse=True)
def small_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_function_is_verified_on_the_cluster(cluster):
    diagnosis = Diagnosis(
        "failed",
        "It fails.",
        80,
        symptom=Symptom("loss_plateau", "It stays.", 0),
        hypotheses=(CausalHypothesis("missing_optimizer_step", "", None, None, (0, 0), 0.6),),
    )
    options = {"seeds": 2, "steps": 40}
    there = neuraldbg.verify(PROGRAMS["missing_optimizer_step"][0], diagnosis, engine="ray", **options)
    here = neuraldbg.verify(PROGRAMS["missing_optimizer_step"][0], diagnosis, **options)
    (verdict,) = there.verdicts
    assert verdict.verdict == "confirmed" and there.runs == 4
    # The same seeds give the same numbers on a node as on this machine.
    assert verdict.effect == here.verdicts[0].effect


def crash() -> None:
    raise ValueError("no such column")


def hang() -> None:
    time.sleep(60)


def test_what_goes_wrong_on_a_node_is_a_line(cluster):
    for train, limit, outcome, words in ((crash, 60, "crashed", "no such column"), (hang, 1, "hung", "no end after")):
        (replay,) = carry_out_all([Plan(None, limit=limit)], _ray.functions_on_ray(train), 1, lambda plan, done: None)
        assert replay is not None and replay.outcome == outcome and words in replay.error


def test_a_script_reads_its_files_on_a_node_and_the_users_stay_as_they_are(cluster, tmp_path):
    (tmp_path / "rate.txt").write_text("0.1")
    (tmp_path / "train.py").write_text(
        "import sys, torch\n"
        "torch.set_num_threads(1)\n"
        "model = torch.nn.Linear(4, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=float(open('rate.txt').read()))\n"
        "for _ in range(int(sys.argv[1])):\n"
        "    x = torch.randn(8, 4)\n"
        "    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()\n"
        "    optimizer.zero_grad()\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
        "open('rate.txt', 'w').write('overwritten')\n"
    )
    script = {"script": "train.py", "module": None, "arguments": ["30"], "shown": "train.py"}
    start = _ray.scripts_on_ray(tmp_path, [sys.executable, "-m", "neuraldbg.cli._replay"], script)
    (replay,) = carry_out_all([Plan(None, steps=20, limit=120)], start, 1, lambda plan, done: None)
    assert replay is not None and replay.outcome == "stopped", replay
    ((steps, _),) = replay.streams.values()
    assert steps == list(range(20)) and replay.places["optimizer"] == "train.py:4"
    assert (tmp_path / "rate.txt").read_text() == "0.1"
