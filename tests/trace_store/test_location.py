"""Where traces go, and what they are called."""

import contextlib
import inspect
import os
import re
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

from neuraldbg import NeuralDbg
from neuraldbg.trace_store import TraceWriter, list_traces, location, new_trace_path, read_trace, trace_folder
from neuraldbg.trace_store.location import set_aside


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NEURALDBG_DIR", raising=False)
    monkeypatch.setattr(location, "_fallback", None)


def test_the_folder_lies_in_the_working_folder_and_stays_out_of_version_control(tmp_path):
    path = new_trace_path("/home/me/train.py")
    assert path.parent == trace_folder() == tmp_path / ".neuraldbg"
    assert re.fullmatch(rf"train-\d{{8}}-\d{{6}}-{os.getpid()}\.ndbg", path.name)
    assert (path.parent / ".gitignore").read_text() == "*\n"


def test_the_environment_moves_it_and_a_folder_of_the_users_is_left_alone(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv("NEURALDBG_DIR", str(tmp_path / "mine"))
    assert new_trace_path("train.py").parent == tmp_path / "mine"
    assert not (tmp_path / "mine" / ".gitignore").exists()
    monkeypatch.setenv("NEURALDBG_DIR", str(tmp_path / "deep" / "er"))
    assert new_trace_path("train.py").parent == tmp_path / "deep" / "er"


def test_names_never_collide(monkeypatch):
    monkeypatch.setattr(location.time, "gmtime", lambda: (2025, 1, 31, 14, 25, 1, 4, 31, 0))
    paths = [new_trace_path("train.py") for _ in range(5)]
    assert len(set(paths)) == 5
    assert {path.name.rsplit("-", 1)[0] for path in paths[1:]} == {paths[0].stem}


@pytest.mark.parametrize(
    ("script", "stem"),
    [
        (None, "python"),
        ("", "python"),
        ("-c", "c"),
        ("../../etc/pass wd.py", "pass_wd"),
        ("a\nb.py", "a_b"),
        ("Übung.ipynb", "bung"),
        ("x" * 300 + ".py", "x" * 40),
        ("pkg.train", "pkg_train"),
    ],
)
def test_any_script_name_makes_a_plain_file_name(script, stem):
    assert new_trace_path(script).name.startswith(f"{stem}-2")


def test_a_folder_that_cannot_be_written_falls_back_with_one_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NEURALDBG_DIR", str(tmp_path / "file" / "traces"))
    with pytest.warns(RuntimeWarning, match="NEURALDBG_DIR") as caught:
        first, second = new_trace_path("train.py"), new_trace_path("train.py")
    assert len(caught) == 1
    assert first.parent == second.parent
    assert first != second
    assert str(first.parent) in str(caught[0].message)
    writer = TraceWriter(first, {"a": 1})
    writer.close()
    assert read_trace(first).meta["a"] == 1


def test_no_folder_at_all_is_left_to_the_writer_to_report(tmp_path, monkeypatch):
    def refuse(**_):
        raise FileNotFoundError("No usable temporary directory found")

    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NEURALDBG_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(location.tempfile, "mkdtemp", refuse)
    assert new_trace_path("train.py").suffix == ".ndbg"


def test_a_working_folder_that_is_gone_falls_back(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.warns(RuntimeWarning):
        path = new_trace_path("train.py")
    assert path.exists()
    monkeypatch.chdir(tmp_path)


def test_traces_are_listed_newest_first(tmp_path):
    assert list_traces() == []
    paths = [new_trace_path(f"{name}.py") for name in "abc"]
    for age, path in enumerate(paths):
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    (trace_folder() / "notes.txt").touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list_traces() == paths
        assert list_traces(Path("elsewhere")) == []


def _a_run(path: Path, value: float, finished: bool = True) -> None:
    writer = TraceWriter(path, {})
    writer.observe("loss.value", 0, (writer.place("loss", "loss"),), (value,))
    writer.flush()
    if finished:
        writer.close()


def test_an_old_trace_makes_room_for_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "run.ndbg"
    assert set_aside(path) is None
    for number in (1, 2):
        _a_run(path, float(number))
        assert set_aside(path) == tmp_path / f"run.{number}.ndbg"
        assert not path.exists()
    kept = [read_trace(tmp_path / f"run.{number}.ndbg").scalar("loss.value")[1].tolist() for number in (1, 2)]
    assert kept == [[1.0], [2.0]]


def test_a_killed_runs_log_goes_with_its_trace(tmp_path: Path) -> None:
    path = tmp_path / "run.ndbg"
    source = Path(__file__).parents[2] / "src"
    body = f"import os, pathlib; from neuraldbg.trace_store import TraceWriter\n{inspect.getsource(_a_run)}"
    body = body.replace("path: Path", "path")
    code = f"{body}\n_a_run(pathlib.Path({str(path)!r}), 3.0, finished=False); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(source)}, check=False)
    assert path.with_name("run.ndbg-wal").stat().st_size > 0
    aside = set_aside(path)
    assert aside is not None
    assert read_trace(aside).scalar("loss.value")[1].tolist() == [3.0]
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith("run.ndbg")) == []


def test_what_is_no_trace_or_is_being_written_stays(tmp_path: Path) -> None:
    other = tmp_path / "notes.ndbg"
    other.write_text("mine")
    assert set_aside(other) is None
    assert other.read_text() == "mine"
    live = tmp_path / "live.ndbg"
    _a_run(live, 1.0)
    with contextlib.closing(sqlite3.connect(live)) as connection, connection:
        connection.execute("UPDATE meta SET value = 'null' WHERE key = 'finished'")
        connection.execute("UPDATE meta SET value = ? WHERE key = 'pid'", (str(os.getppid()),))
    assert set_aside(live) is None
    assert live.exists()


def test_two_runs_with_one_path_are_two_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.ndbg"
    model = torch.nn.Linear(2, 1)
    for steps in (3, 5):
        with NeuralDbg(model, path=path) as debugger:
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(steps):
                optimizer.zero_grad()
                model(torch.ones(4, 2)).square().mean().backward()
                optimizer.step()
        assert debugger.diagnosis().steps == steps
    assert read_trace(tmp_path / "run.1.ndbg").steps == 3
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and "run.1.ndbg" in said[0]
