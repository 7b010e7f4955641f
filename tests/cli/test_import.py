"""``neuraldbg import``: logs of runs that were not watched, read in the command's own way."""

from __future__ import annotations

import importlib
import json
import math
import random

import pytest

from neuraldbg.cli._log import Columns, judge_log, read_log
from neuraldbg.errors import UsageError

command = importlib.import_module("neuraldbg.cli.import").command


def write_csv(path, head, rows):
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]), encoding="utf-8")
    return path


@pytest.fixture
def noise():
    return random.Random(0).random


def falling(step):
    return 2 * math.exp(-step / 60)


def test_overfitting_is_read_from_a_csv(tmp_path, noise, capsys):
    rows = [
        (i, falling(i) + 0.02 * noise() + 0.05, 1 + falling(i) / 4 + 0.004 * i if i % 5 == 0 else "", 1e-3)
        for i in range(300)
    ]
    path = write_csv(tmp_path / "log.csv", "step,train/loss,val/loss,lr", rows)
    assert command(path) == 1
    out = capsys.readouterr().out
    assert "The model overfits" in out
    assert "validation from 'val/loss'" in " ".join(out.split())
    assert "Not checked" in out and "dead" in out
    assert "ruled out" not in out


def test_a_jump_of_the_rate_is_read_from_json_lines(tmp_path, noise):
    lines = [
        {"global_step": i, "loss": falling(i) + 0.02 * noise() if i < 150 else 8 + noise(), "learning_rate": rate}
        for i in range(300)
        for rate in [1e-3 if i < 148 else 0.1]
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    diagnosis = judge_log(read_log(path)[0])
    assert diagnosis.hypotheses[0].cause == "learning_rate_jump"


def test_the_trainer_state_of_hugging_face_is_read(tmp_path):
    history = [{"step": 10 * i, "loss": falling(i), "learning_rate": 1e-4} for i in range(40)]
    history += [{"step": 10 * i, "eval_loss": falling(i) + 0.1} for i in range(0, 40, 10)]
    path = tmp_path / "trainer_state.json"
    path.write_text(json.dumps({"log_history": history}, indent=2), encoding="utf-8")
    trace, taken = read_log(path)
    assert taken == {"loss": "loss", "validation": "eval_loss", "rate": "learning_rate"}
    assert (trace.steps, trace.series("loss.value").values.size) == (391, 40)
    assert judge_log(trace).outcome == "healthy"


def test_a_loss_that_is_no_number_is_a_failure(tmp_path):
    path = write_csv(tmp_path / "log.csv", "step,loss", [(i, falling(i) if i < 150 else "nan") for i in range(200)])
    diagnosis = judge_log(read_log(path)[0])
    assert diagnosis.outcome in ("failed", "uncertain")
    assert diagnosis.symptom.step == 150


def test_a_healthy_log_is_healthy(tmp_path, noise, capsys):
    path = write_csv(tmp_path / "log.csv", "loss,lr", [(falling(i) + 0.02 * noise(), 1e-3) for i in range(200)])
    assert command(path) == 0
    assert capsys.readouterr().out.startswith("Nothing failed in 200 steps")


def test_events_of_tensorboard_are_read(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("tensorboard", reason="the package tensorboard is not installed")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        for i in range(60):
            writer.add_scalar("Loss/train", falling(i), i)
    trace, _ = read_log(tmp_path, Columns(loss="Loss/train"))
    assert trace.steps == 60


@pytest.mark.parametrize(
    ("text", "says"),
    [("step,accuracy\n1,0.5\n", "expected a column with a loss, found accuracy"), ("", "no column of numbers")],
)
def test_what_holds_no_loss_is_refused(tmp_path, text, says):
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=says):
        read_log(path)


def test_a_missing_file_and_a_missing_column_are_refused(tmp_path):
    with pytest.raises(UsageError, match="found no file"):
        read_log(tmp_path / "none.csv")
    path = write_csv(tmp_path / "log.csv", "loss", [(1.0,)])
    with pytest.raises(UsageError, match="expected a column 'nll'"):
        read_log(path, Columns(loss="nll"))
