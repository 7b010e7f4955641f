"""Snapshots: what is kept, how much of it, and that a run from one is the run from the start, bit for bit."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks
from torch.utils.data import DataLoader, TensorDataset

import neuraldbg
from neuraldbg import NeuralDbg
from neuraldbg.errors import UsageError
from neuraldbg.observe.snapshots import SnapshotRing
from neuraldbg.records import CausalHypothesis, Diagnosis, Symptom
from neuraldbg.verify._replay import Plan, carry_out
from neuraldbg.verify._resume import choose, read_header

STEPS = 120


@pytest.fixture(autouse=True)
def small_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def program(session=None, dropout=0.3, rate_at=None, optimizer=torch.optim.AdamW):
    """A loader, dropout, batch norm, a schedule: all that a step depends on."""
    torch.manual_seed(0)
    x = torch.randn(256, 8)
    data = DataLoader(TensorDataset(x, x[:, :4].argmax(1)), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(dropout), nn.Linear(32, 4))
    chosen = optimizer(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(chosen, 400)
    step, losses = 0, []
    with session(model) if session else torch.enable_grad():
        while step < STEPS:
            for inputs, target in data:
                if step >= STEPS:
                    break
                if rate_at and step >= rate_at:
                    chosen.param_groups[0]["lr"] = 50.0
                loss = F.cross_entropy(model(inputs), target)
                chosen.zero_grad()
                loss.backward()
                chosen.step()
                schedule.step()
                losses.append(float(loss.detach()))
                step += 1
    return losses


def recorded(path, **options):
    sessions = []

    def session(model):
        sessions.append(NeuralDbg(model, path=path, snapshots=True))
        return sessions[0]

    return program(session, **options), sessions[0]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("optimizer", [torch.optim.AdamW, lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9)])
def test_a_run_from_a_snapshot_is_the_run_from_the_start_bit_for_bit(tmp_path, dropout, optimizer):
    losses, session = recorded(tmp_path / "run.ndbg", dropout=dropout, optimizer=optimizer)
    assert losses == program(dropout=dropout, optimizer=optimizer)  # taking them changes nothing
    snapshot = choose(session.snapshots, STEPS)
    assert snapshot is not None and snapshot.step >= 50
    again = carry_out(
        Plan(None, steps=STEPS, snapshot=snapshot.path), lambda: program(dropout=dropout, optimizer=optimizer)
    )
    ((steps, values),) = again.streams.values()
    assert steps == list(range(snapshot.step, STEPS)), again.error
    assert values == losses[snapshot.step :]
    other = carry_out(
        Plan(None, seed=1, steps=STEPS, snapshot=snapshot.path), lambda: program(dropout=dropout, optimizer=optimizer)
    )
    if dropout:
        assert next(iter(other.streams.values()))[1] != values


def test_another_course_is_noticed(tmp_path):
    _, session = recorded(tmp_path / "run.ndbg")
    snapshot = choose(session.snapshots, STEPS)
    assert snapshot is not None

    def other():
        torch.manual_seed(5)
        model = nn.Linear(8, 4)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        for _ in range(STEPS):
            loss = model(torch.randn(32, 8)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    replay = carry_out(Plan(None, steps=STEPS, snapshot=snapshot.path), other)
    assert replay.outcome == "crashed" and "could not begin at the snapshot: the batch is not" in replay.error
    lost = carry_out(Plan(None, steps=STEPS, snapshot=str(tmp_path / "none.safetensors")), other)
    assert lost.outcome == "crashed" and "can't be read" in lost.error


def test_an_experiment_begins_at_the_snapshot_and_comes_to_the_same_verdict(tmp_path):
    _, session = recorded(tmp_path / "run.ndbg", rate_at=90)
    diagnosis = Diagnosis(
        "failed",
        "It fails.",
        STEPS,
        symptom=Symptom("loss_diverged", "It runs away.", 92),
        hypotheses=(CausalHypothesis("learning_rate_jump", "", None, None, (90, 92), 0.6),),
    )

    def train():
        program(rate_at=90)

    near = neuraldbg.verify(train, diagnosis, seeds=2, snapshots=session.snapshots)
    far = neuraldbg.verify(train, diagnosis, seeds=2)
    assert any(note.startswith("runs begin at step") for note in near.notes), near.notes
    assert not any("two results" in note for note in near.notes)
    assert near.verdicts[0].verdict == far.verdicts[0].verdict == "confirmed"
    early = Diagnosis(
        "failed",
        "It fails.",
        STEPS,
        symptom=diagnosis.symptom,
        hypotheses=(CausalHypothesis("learning_rate_too_high", "", None, None, (0, 0), 0.6),),
    )
    # What acts from the first step on can't be taken away in the middle.
    assert not neuraldbg.verify(train, early, seeds=1, snapshots=session.snapshots, steps=5).notes


def test_a_step_that_differs_from_itself_is_told_apart_from_all_causes(tmp_path):
    _, session = recorded(tmp_path / "run.ndbg")

    def train():
        # Something below torch that is not the same twice.
        original = F.cross_entropy
        noise = torch.Generator()
        noise.seed()
        F.cross_entropy = lambda *given: original(*given) + 1e-6 * torch.rand((), generator=noise)
        try:
            program()
        finally:
            F.cross_entropy = original

    diagnosis = Diagnosis(
        "failed",
        "It fails.",
        STEPS,
        symptom=Symptom("loss_spike", "It jumps.", 110),
        hypotheses=(CausalHypothesis("outlier_batch", "", None, None, (110, 110), 0.6),),
    )
    result = neuraldbg.verify(train, diagnosis, seeds=1, snapshots=session.snapshots)
    assert any("gave two results" in note and "apart from all causes" in note for note in result.notes), result.notes


def test_the_ring_stays_within_its_bytes_and_keeps_old_ones_sparsely(tmp_path):
    model = nn.Linear(100, 100)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    rounds = [0]
    ring = SnapshotRing(tmp_path / "ring", 500_000, lambda: rounds[0])
    hooks = len(module_hooks._global_forward_pre_hooks), len(optimizer_hooks._global_optimizer_post_hooks)
    ring.start()
    for rounds[0] in range(400):
        ring._last -= 1.0  # as if a second had passed
        model(torch.ones(1, 100)).sum().backward()
        optimizer.step()
        while not ring._waiting.empty():
            pass
    ring.stop()
    assert (len(module_hooks._global_forward_pre_hooks), len(optimizer_hooks._global_optimizer_post_hooks)) == hooks
    files = sorted((tmp_path / "ring").iterdir())
    assert len(files) >= 3 and sum(file.stat().st_size for file in files) <= 500_000
    steps = [read_header(file)["step"] for file in files]
    assert steps[-1] >= 350 and steps[0] <= 250
    gaps = [later - earlier for earlier, later in pairwise(steps)]
    assert len(gaps) < 4 or min(gaps[-2:]) <= gaps[0]


def test_nothing_is_taken_after_the_weights_are_lost_or_where_one_is_too_large(tmp_path):
    model = nn.Linear(10, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def rounds(ring, until, spoil=math.inf):
        ring.start()
        for step in range(until):
            ring._last -= 1.0
            loss = model(torch.ones(1, 10)).sum() * (math.nan if step >= spoil else 1.0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            while not ring._waiting.empty():
                pass
        ring.stop()

    ring = SnapshotRing(tmp_path / "small", 1_000, lambda: 0)
    rounds(ring, 30)
    assert not (tmp_path / "small").exists() and "raise snapshot_bytes" in ring.trouble
    ring = SnapshotRing(tmp_path / "lost", 10_000_000, lambda: ring._steps)
    rounds(ring, 100, spoil=35)
    assert max(read_header(file)["step"] for file in (tmp_path / "lost").iterdir()) <= 36 and not ring.trouble


def test_what_it_cannot_hold_is_said_and_training_goes_on(tmp_path):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
    ring = SnapshotRing(tmp_path / "ring", 10_000_000, lambda: 0)
    ring.start()

    def closure():
        optimizer.zero_grad()
        loss = (model(torch.ones(2, 4)) - 1).square().mean()
        loss.backward()
        return loss

    for _ in range(30):
        ring._last -= 1.0
        optimizer.step(closure)
    ring.stop()
    assert "LBFGS keeps" in ring.trouble and not (tmp_path / "ring").exists()


def test_without_safetensors_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("neuraldbg.session.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"neuraldbg\[snapshots\]"):
        NeuralDbg(snapshots=True)


def test_files_that_are_no_snapshots_are_passed_over(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(b"short")
    header = json.dumps({"__metadata__": {"format": "pt"}}).encode()
    (tmp_path / "b.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    assert choose(sorted(tmp_path.iterdir()), 1000) is None
