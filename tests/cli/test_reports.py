"""report, export and diff, on traces that were made by hand; the diagnosis is the real one."""

import csv
import io
import json

import pytest

from helpers.recorded import recorded, write
from neuraldbg.cli import main
from neuraldbg.records import OUTCOMES

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    healthy = write(recorded(["a", "b", "c"], 60), folder / "healthy.ndbg")
    broken = write(recorded(["a", "b", EVIL], 60, broken_from=40), folder / "broken.ndbg")
    return healthy, broken


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NEURALDBG_DIR", raising=False)


def test_report_writes_one_file_beside_the_trace_or_where_it_is_told(traces, tmp_path, capsys):
    assert main(["report", str(traces[1]), "-o", "run.html"]) == 0
    page = (tmp_path / "run.html").read_text("utf-8")
    assert page.startswith("<!doctype html>") and EVIL not in page.replace("\\u003c", "")
    assert "Report: run.html" in capsys.readouterr().out
    assert main(["report", str(traces[0])]) == 0
    assert traces[0].with_suffix(".html").exists()


def test_export_to_everything_that_goes_to_standard_output(traces, capsys):
    said = {}
    for to in ("json", "csv", "mermaid", "dot", "sarif"):
        assert main(["export", str(traces[1]), "--to", to]) == 0
        said[to] = capsys.readouterr().out
    assert json.loads(said["json"])["outcome"] in OUTCOMES
    assert json.loads(said["sarif"])["version"] == "2.1.0"
    assert next(csv.reader(io.StringIO(said["csv"]))) == ["step", "quantity", "kind", "place", "value"]
    assert said["mermaid"].startswith("flowchart TD") and said["dot"].startswith("digraph")
    assert EVIL not in said["mermaid"]


def test_export_to_files(traces, tmp_path, capsys):
    for to in ("sarif", "csv"):
        assert main(["export", str(traces[1]), "--to", to, "-o", f"out.{to}"]) == 0
        assert (tmp_path / f"out.{to}").stat().st_size > 100
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra parquet)")
    assert main(["export", str(traces[1]), "--to", "parquet", "-o", "out.parquet"]) == 0
    assert (tmp_path / "out.parquet").read_bytes()[:4] == b"PAR1"
    assert "Written: out.parquet" in capsys.readouterr().out


def test_diff_names_the_first_step_and_place(traces, capsys):
    healthy, broken = map(str, traces)
    assert main(["diff", healthy, healthy]) == 0
    assert "PARTED   nowhere" in capsys.readouterr().out
    assert main(["diff", healthy, broken]) == 1
    out = capsys.readouterr().out
    assert "PARTED   step 40: loss value of 'loss': " in out and "Only the second run has the layers" in out
    assert main(["diff", healthy, broken, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["schema_version"] == 1 and found["parted"][0]["step"] == 40
    assert found["parted"][0]["second"] == "inf"


def test_a_mistake_is_one_line_that_says_what_to_do(traces, capsys):
    trace = str(traces[0])
    for arguments, words in (
        (["report"], "make one: neuraldbg run train.py"),
        (["report", "missing.ndbg"], "`neuraldbg list` shows those of this folder"),
        (["report", __file__], "expected a NeuralDBG trace"),
        (["report", trace, "-o", "no/such/folder/x.html"], "name another"),
        (["export", trace, "--to", "csv", "-o", "no/such/folder/x.csv"], "name another"),
        (["export", trace, "--to", "xml"], "--help"),
        (["export", trace], "--to"),
        (["diff", trace, "missing.ndbg"], "found no file"),
        (["watch", "missing.ndbg"], "found no file"),
        (["run", "--fail-on", "sometimes", "x.py"], "--help"),
    ):
        assert main(arguments) == 2, arguments
        said = capsys.readouterr().err
        assert words in said and said.count("\n") == 1 and said.startswith("neuraldbg: "), said
