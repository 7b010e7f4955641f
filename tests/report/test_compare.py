"""Two runs: where they part first, in the order in which data flows."""

from dataclasses import replace

import numpy as np

from helpers.recorded import recorded
from neuraldbg.records import Diagnosis
from neuraldbg.report.compare import compare
from neuraldbg.report.live import Moment, screen

LAYERS = ["first", "second", "third"]


def test_equal_runs_part_nowhere():
    found = compare(recorded(LAYERS, 40), recorded(LAYERS, 40))
    assert found.parted == () and found.settings == () and found.last_common == 39
    assert found.compared == sum(recorded(LAYERS, 40).series(q).values.size for q in recorded(LAYERS, 40).quantities)


def test_the_first_difference_in_time_comes_first_and_then_the_way_of_the_data():
    one, other = recorded(LAYERS, 40), recorded(LAYERS, 40)
    other.series("module.output_gradient_norm").values[10, [0, 2]] *= 1.5
    other.series("activation.dead_units").values[10, 1] += 0.5
    other.series("loss.value").values[10, 0] = np.inf
    other.series("loss.value").values[30, 0] = 9.0
    parted = compare(one, other).parted
    assert {difference.step for difference in parted} == {10}
    assert [(d.quantity, d.place.name) for d in parted] == [
        ("activation.dead_units", "second:Relu"),
        ("loss.value", "loss"),
        ("module.output_gradient_norm", "third"),
        ("module.output_gradient_norm", "first"),
    ]


def test_what_is_within_the_tolerance_is_equal():
    one, other = recorded(LAYERS, 20), recorded(LAYERS, 20)
    other.series("loss.value").values[5, 0] *= 1 + 1e-5
    assert compare(one, other).parted == ()
    assert [d.step for d in compare(one, other, tolerance=1e-7).parted] == [5]


def test_only_steps_that_both_observed_are_compared():
    found = compare(recorded(LAYERS, 40), recorded(LAYERS, 40, every=7))
    assert found.last_common == 35
    one, other = recorded(["a"], 10), recorded(["b"], 10)
    assert any("Only the first run has the layers 'a'." in note for note in compare(one, other).notes)


def test_settings_and_events_that_differ_are_named(diagnoses):
    one, other = recorded(LAYERS, 20), recorded(LAYERS, 20)
    other.meta["arguments"] = ["--lr", "1"]
    other.facts("optimizer.settings")[0].data["groups"][0]["lr"] = 1.0
    healthy = Diagnosis("healthy", "Nothing failed.", 20)
    failed = diagnoses["log_of_zero"]
    found = compare(one, other, (healthy, failed))
    assert ("optimizer optimizer, group 0, lr", "0.1", "1.0") in found.settings
    assert found.only_first == () and found.only_second == failed.events
    assert compare(one, other, (failed, replace(failed, events=failed.events[1:]))).only_first == failed.events[:1]
    assert found.as_dict()["settings"][0] == {"name": "arguments", "first": "–", "second": "['--lr', '1']"}


def test_the_live_screen_fits_forty_columns(diagnoses):
    moment = Moment("train.py", 612, "running", {"loss": [2.0, 1.0, float("nan")]}, diagnoses["log_of_zero"], "x" * 90)
    for width in (40, 80, 200):
        lines = screen(moment, width)
        assert max(map(len, lines)) <= width
        assert "SUSPECTED" in "\n".join(lines) and lines[0] == "train.py · 612 steps · running"
    assert "No loss was seen yet." in screen(Moment("t.py", 0, "running"), 40)
    assert "Nothing is wrong so far." in screen(Moment("t.py", 9, "running", {}, diagnoses["healthy"]), 40)
