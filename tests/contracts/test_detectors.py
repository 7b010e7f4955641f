"""What holds for every detector: its page, the quantities it reads, and what it says on sick, healthy and odd runs."""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path

import pytest

import neuraldbg
from helpers.healthy_run import quantities, run_with
from helpers.sick_runs import SICK
from neuraldbg.detectors import detect_events, detectors
from neuraldbg.measures.run import Run
from neuraldbg.records import EVENT_TYPES, FAILURE_TYPES, STATES
from neuraldbg.testing import trace

HEADINGS = ["What it detects", "Why it matters", "Evidence", "When it is wrong", "References"]
PACKAGE = Path(neuraldbg.__file__).parent
DETECTORS = sorted(detectors())
CASES = [(name, sick) for name in DETECTORS for sick in SICK.get(name, [])]
FORMAT = Path(__file__).parents[2] / "docs" / "trace_format.md"


def detect(name: str, run: Run):
    return list(detectors()[name].detect(run))


def odd_runs():
    healthy = quantities()
    first = {
        name: {place: list(values)[:1] for place, values in by.items() if not isinstance(values, dict)}
        for name, by in healthy.items()
    }
    nothing = {name: {place: [math.nan] * 30 for place in by} for name, by in healthy.items()}
    infinite = {name: {place: [math.inf] * 30 for place in by} for name, by in healthy.items()}
    zero = {name: {place: [0.0] * 30 for place in by} for name, by in healthy.items()}
    ends = {
        name: {
            place: [*list(values)[:40], *[math.inf] * 20]
            for place, values in by.items()
            if not isinstance(values, dict)
        }
        for name, by in healthy.items()
    }
    deep = {f"layer{index}": [0.3**index] * 40 + [math.inf] * 20 for index in range(9)}
    growing = {"module.output_gradient_norm": deep, "module.output_std": deep, "module.output_batch_spread": deep}
    yield "empty", Run(trace())
    yield "ends infinite", Run(trace(ends, flow="fc1 -> act -> fc2 -> out -> <loss>"))
    yield "deep, ends infinite", run_with(growing, flow=" -> ".join([*deep, "<loss>"]))
    yield "one row", Run(trace(first, flow="fc1 -> act -> out -> <loss>"))
    yield "all NaN", Run(trace(nothing, flow="fc1 -> act -> out -> <loss>"))
    yield "all infinite", Run(trace(infinite, flow="fc1 -> act -> out -> <loss>"))
    yield "all zero", Run(trace(zero, flow="fc1 -> act -> out -> <loss>"))
    yield "a loop in the flow", run_with(flow="fc1 -> act -> fc1 -> out -> <loss>; out -> fc1")


ODD = dict(odd_runs())


@pytest.mark.parametrize("name", DETECTORS)
def test_page_has_its_headings_in_order(name):
    page = inspect.getdoc(detectors()[name]) or ""
    assert re.findall(r"^## (.+)$", page, re.M) == HEADINGS
    assert all(len(part.strip()) > 20 for part in re.split(r"^## .+$", page, flags=re.M)), "a section is empty"


@pytest.mark.parametrize("name", DETECTORS)
def test_name_means_one_thing(name):
    causes = {file.stem for file in (PACKAGE / "causes").glob("*.py")}
    assert name not in causes | set(EVENT_TYPES) | set(FAILURE_TYPES)


@pytest.mark.parametrize("name", DETECTORS)
def test_needs_are_documented_quantities(name):
    documented = set(re.findall(r"^\| `([a-z_]+\.[a-z_0-9]+)` \|", FORMAT.read_text("utf-8"), re.M))
    assert set(detectors()[name].NEEDS) <= documented


@pytest.mark.parametrize("name", DETECTORS)
def test_needs_are_the_quantities_that_the_file_names(name):
    source = Path(detectors()[name].__file__).read_text("utf-8").rpartition('"""')[0]
    body = Path(detectors()[name].__file__).read_text("utf-8").removeprefix(source)
    read = set(
        re.findall(
            r'(?:series|scalar|column|of_optimizer|model_inputs|early|late|_series)\([^"()]*"([a-z]+\.[a-z_]+)"', body
        )
    )
    assert read <= set(detectors()[name].NEEDS)


@pytest.mark.parametrize("name", DETECTORS)
def test_events_name_questions_that_exist(name):
    text = "".join(file.read_text("utf-8") for file in (PACKAGE / "causes" / "_findings").rglob("*.py"))
    known = set(re.findall(r"^def ([a-z_0-9]+)\(", text, re.M))
    for sick in SICK[name]:
        for event in detect(name, sick.run()):
            assert set(event.metadata["findings"]) <= known


def test_every_detector_has_a_run_on_which_it_fires():
    assert set(SICK) == set(DETECTORS)


@pytest.mark.parametrize(("name", "sick"), CASES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CASES)])
def test_fires(name, sick):
    found = [event for event in detect(name, sick.run()) if event.to_state == sick.state]
    assert found, f"expected {sick.state}, found {[str(e) for e in detect(name, sick.run())]}"
    at_place = [
        e for e in found if sick.place is None or e.place == sick.place or e.metadata.get("subject") == sick.place
    ]
    assert at_place, [event.place for event in found]
    if sick.step is not None:
        assert min(abs(event.step_range[0] - sick.step) for event in at_place) <= 2, [e.step_range for e in at_place]


@pytest.mark.parametrize(("name", "sick"), CASES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CASES)])
def test_what_it_says_is_well_formed(name, sick):
    for event in detect(name, sick.run()):
        assert event.from_state == STATES[event.event_type][0] != event.to_state
        assert 0 <= event.step_range[0] <= event.step_range[1] <= 59
        assert 0 < event.confidence <= 1
        assert isinstance(event.metadata["findings"], tuple)
        sentence = event.metadata["sentence"]
        assert sentence and not sentence.endswith(".") and "nan" not in sentence.split(), sentence
        assert sentence[0] == sentence[0].lower() or sentence.split()[0].isupper() or sentence[0].isdigit(), sentence
        assert event.layer is not None or event.parameter or event.metadata.get("subject")
        assert all(value is not None for value in event.metadata.values())


@pytest.mark.parametrize("name", DETECTORS)
def test_stays_quiet_on_a_run_that_trains_well(name):
    assert [str(event) for event in detect(name, run_with())] == []


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.filterwarnings("error")
def test_survives_odd_runs(name, odd):
    events = detect(name, ODD[odd])
    if odd == "empty":
        assert events == []


def test_all_together_are_quiet_and_named():
    events, notes = detect_events(run_with())
    assert (events, notes) == ((), ())


@pytest.mark.parametrize("odd", ODD)
def test_all_together_survive_odd_runs(odd):
    _, notes = detect_events(ODD[odd])
    assert notes == ()
