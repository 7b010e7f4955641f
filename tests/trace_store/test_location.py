"""Where traces go, and what they are called."""

import os
import re
import warnings
from pathlib import Path

import pytest

from neuraldbg.trace_store import TraceWriter, list_traces, location, new_trace_path, read_trace, trace_folder


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
