"""A trace and its diagnosis in the formats of other programs."""

import csv
import io
import json
import math
import re
from dataclasses import replace

import pytest

from helpers.recorded import recorded
from neuraldbg.errors import UsageError
from neuraldbg.report.dot import causal_dot
from neuraldbg.report.plot import PANELS, plot
from neuraldbg.report.sarif import to_sarif
from neuraldbg.report.tables import COLUMNS, write_csv, write_parquet

EVIL = "<script>alert(1)</script>"


def test_csv_holds_every_number_that_was_measured():
    trace = recorded(["a", "=1+1"], 7, broken_from=5)
    out = io.StringIO()
    write_csv(trace, out)
    head, *rows = csv.reader(io.StringIO(out.getvalue()))
    assert tuple(head) == COLUMNS
    assert len(rows) == sum(trace.series(quantity).values.size for quantity in trace.quantities)
    gradient = {(int(r[0]), r[3]): float(r[4]) for r in rows if r[1] == "module.output_gradient_norm"}
    assert gradient[3, "a"] == trace.series("module.output_gradient_norm").values[3, 0]
    assert math.isinf(gradient[5, "a"]) and (0, "'=1+1") in gradient


def test_parquet_holds_the_same(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (extra parquet)")
    trace = recorded(["a", "b"], 5)
    write_parquet(trace, tmp_path / "run.parquet")
    table = parquet.read_table(tmp_path / "run.parquet")
    out = io.StringIO()
    write_csv(trace, out)
    expected = [(int(r[0]), r[1], r[2], r[3], float(r[4])) for r in list(csv.reader(io.StringIO(out.getvalue())))[1:]]
    assert list(zip(*(table.column(name).to_pylist() for name in COLUMNS))) == expected


def test_sarif_points_at_the_line(diagnoses):
    diagnosis = diagnoses["log_of_zero"]
    diagnosis = replace(diagnosis, meta={**diagnosis.meta, "folder": "/home/someone/project"})
    run = json.loads(to_sarif(diagnosis))["runs"][0]
    first, second = run["results"]
    place = first["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "train.py"}, "region": {"startLine": 57}}
    assert (first["ruleId"], first["level"], second["level"]) == ("loss_domain", "error", "warning")
    assert "The loss became NaN at step 418." in first["message"]["text"]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"loss_domain", "learning_rate_too_high"}
    # Without a line of its own it stands at the top of the script, relative to the run's folder.
    assert second["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "train.py"


def test_sarif_of_each_verdict(named):
    _, diagnosis = named
    log = json.loads(to_sarif(diagnosis))
    assert log["version"] == "2.1.0" and len(log["runs"][0]["results"]) == len(diagnosis.hypotheses)


def test_sarif_names_the_layer_and_hides_control_characters(diagnoses):
    base = diagnoses["twice_softmax"]
    root = replace(base.hypotheses[0], layer=f"{EVIL}\x1b[31m", title="red\x1b[31m")
    result = json.loads(to_sarif(replace(base, hypotheses=(root,))))["runs"][0]["results"][0]
    assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == EVIL + "\\x1b[31m"
    assert "\x1b" not in result["message"]["text"]


def test_dot_is_a_graph_that_no_name_can_break(diagnoses):
    base = diagnoses["log_of_zero"]
    event = replace(base.events[0], metadata={"sentence": 'a "quote" and \\ and\nline <b>x</b>'})
    root = replace(base.hypotheses[0], evidence=(event, base.events[1]))
    text = causal_dot(replace(base, events=(event, *base.events[1:]), hypotheses=(root,)))
    lines = text.splitlines()
    assert lines[0] == "digraph causes {" and lines[-1] == "}"
    node = re.compile(r'^    (h|e|symptom)\d* (-> (e\d+|symptom) )?\[(label="(?:[^"\\]|\\.)*")?.*\];$')
    assert all(node.match(line) for line in lines[2:-1]), text
    assert "    h0 -> e0 [style=dotted];" in lines and '    e0 -> e1 [label="forward"];' in lines


def test_every_panel_becomes_a_figure(diagnoses):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra plot)")
    trace = recorded(["a", "$b_", "c"], 30, broken_from=20)
    drawn = [panel for panel in PANELS if panel != "targets"]
    for panel in drawn:
        figure = plot(diagnoses["log_of_zero"], trace, panel)
        figure.canvas.draw()
        assert figure.axes[0].lines or figure.axes[0].collections
    with pytest.raises(UsageError, match="panel expects one of loss"):
        plot(diagnoses["healthy"], trace, "nothing")
    with pytest.raises(UsageError, match="nothing of the panel 'targets'"):
        plot(diagnoses["healthy"], trace, "targets")
