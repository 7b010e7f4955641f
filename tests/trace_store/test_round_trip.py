"""What goes into a trace comes out of it, whatever it is."""

import json
import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuraldbg.errors import UsageError
from neuraldbg.records import (
    OUTCOMES,
    PLACE_KINDS,
    CausalHypothesis,
    CausalLink,
    Diagnosis,
    Finding,
    SemanticEvent,
    Symptom,
    Verdict,
    Verification,
)
from neuraldbg.trace_store import (
    TraceWriter,
    read_diagnosis,
    read_trace,
    read_verifications,
    summary,
    write_diagnosis,
    write_verification,
)

# A file is made for every example; that is slower than the deadlines that suit pure functions.
on_files = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

texts = st.text(max_size=12)
floats = st.floats(width=64)
steps = st.integers(0, 2**40)
leaves = st.none() | st.booleans() | st.integers() | floats | texts
json_objects = st.dictionaries(
    texts,
    st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)),
    max_size=3,
)


def canonical(value) -> str:
    """Text by which NaN equals NaN."""
    return json.dumps(value, sort_keys=True)


def rows_of(series) -> list[str]:
    """Every row as text, sorted: step, then the observed places with their numbers."""
    return sorted(
        f"{step} {sorted((place.identifier, repr(float(value))) for place, value in zip(series.places, row))}"
        for step, row in zip(series.steps, series.values)
    )


@st.composite
def recordings(draw):
    places = draw(
        st.lists(st.tuples(st.sampled_from(PLACE_KINDS), texts, json_objects), max_size=6, unique_by=lambda p: p[:2])
    )
    identifiers = st.lists(st.integers(0, len(places) - 1), unique=True, max_size=6) if places else st.just([])
    observation = st.tuples(texts, steps, identifiers).flatmap(
        lambda head: st.tuples(*map(st.just, head), st.lists(floats, min_size=len(head[2]), max_size=len(head[2])))
    )
    where = st.none() | st.integers(0, len(places) - 1) if places else st.none()
    return (
        places,
        draw(st.lists(observation, max_size=20)),
        draw(st.lists(st.tuples(texts, steps, where, json_objects), max_size=6)),
    )


@on_files
@given(recordings(), json_objects)
def test_places_observations_facts_and_meta(recording, meta):
    places, observations, facts = recording
    meta = {key: value for key, value in meta.items() if key not in ("last_step", "started", "finished", "pid")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ndbg"
        writer = TraceWriter(path, meta)
        assert [writer.place(*place) for place in places] == list(range(len(places)))
        for observation in observations:
            writer.observe(*observation)
        for fact in facts:
            writer.fact(*fact)
        writer.close()
        assert writer.failure is None
        assert [entry.name for entry in Path(folder).iterdir()] == ["run.ndbg"]
        trace = read_trace(path)

    assert [(p.kind, p.name, canonical(p.details)) for p in trace.places] == [
        (k, n, canonical(d)) for k, n, d in places
    ]
    assert canonical({key: trace.meta[key] for key in meta}) == canonical(meta)
    assert "malformed" not in trace.meta
    assert trace.last_step == max((step for _, step, _, _ in observations), default=-1)
    assert set(trace.quantities) == {quantity for quantity, *_ in observations}
    for quantity in trace.quantities:
        seen = [entry for entry in observations if entry[0] == quantity]
        columns = sorted({identifier for _, _, identifiers, _ in seen for identifier in identifiers})
        expected = sorted(
            f"{step} {sorted((c, repr(dict(zip(ids, values)).get(c, math.nan))) for c in columns)}"
            for _, step, ids, values in seen
        )
        assert rows_of(trace.series(quantity)) == expected
        assert list(trace.series(quantity).steps) == sorted(step for _, step, _, _ in seen)
    for name in {name for name, *_ in facts}:
        expected = sorted((entry for entry in facts if entry[0] == name), key=lambda entry: entry[1])
        found = trace.facts(name)
        assert [(f.step, None if f.place is None else f.place.identifier, canonical(f.data)) for f in found] == [
            (step, place, canonical(data)) for _, step, place, data in expected
        ]


anything = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(texts | st.just("$tuple"), inner, max_size=3)
        | st.dictionaries(st.integers(), inner, max_size=2)
    ),
    max_leaves=6,
)
mappings = st.dictionaries(texts, anything, max_size=3)
numbers = st.dictionaries(texts, floats, max_size=3)
names = st.none() | texts
ranges = st.tuples(steps, steps)
events = st.builds(SemanticEvent, texts, names, names, texts, texts, ranges, floats, mappings)
nesting_events = events | st.builds(
    SemanticEvent,
    texts,
    names,
    names,
    texts,
    texts,
    ranges,
    floats,
    st.fixed_dictionaries({"coupled": st.tuples(events)}),
)
findings = st.builds(Finding, texts, st.none() | st.booleans(), texts, numbers, names, names, st.none() | steps, names)
several_texts = st.lists(texts, max_size=3).map(tuple)
hypotheses = st.builds(
    CausalHypothesis,
    texts,
    texts,
    names,
    names,
    ranges,
    floats,
    st.lists(nesting_events, max_size=2).map(tuple),
    several_texts,
    supporting=st.lists(findings, max_size=2).map(tuple),
    contradicting=st.lists(findings, max_size=1).map(tuple),
    failure_types=several_texts,
)
diagnoses = st.builds(
    Diagnosis,
    st.sampled_from(OUTCOMES),
    texts,
    steps,
    st.none() | st.builds(Symptom, texts, texts, steps, numbers),
    st.lists(hypotheses, max_size=2).map(tuple),
    events=st.lists(nesting_events, max_size=2).map(tuple),
    links=st.lists(st.builds(CausalLink, steps, steps, texts, steps, floats), max_size=2).map(tuple),
    notes=several_texts,
    meta=mappings,
)


@pytest.fixture(scope="module")
def empty_trace(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("diagnosis") / "run.ndbg"
    TraceWriter(path, {"script": "train.py"}).close()
    return path


@on_files
@given(diagnoses)
def test_a_diagnosis_comes_back_equal(empty_trace, diagnosis):
    write_diagnosis(empty_trace, diagnosis)
    # repr shows types, tuples against lists, and NaN, which is not equal to itself.
    assert repr(read_diagnosis(empty_trace)) == repr(diagnosis)


def test_a_trace_has_no_diagnosis_until_one_is_kept(tmp_path):
    path = tmp_path / "run.ndbg"
    TraceWriter(path, {"script": "train.py"}).close()
    assert read_diagnosis(path) is None
    assert "outcome" not in summary(path)
    write_diagnosis(path, Diagnosis("healthy", "Nothing failed.", 12))
    about = summary(path)
    assert (about["script"], about["outcome"], about["verdict"]) == ("train.py", "healthy", "Nothing failed.")


def test_experiments_are_kept_beside_each_other_the_newest_first(tmp_path):
    path = tmp_path / "run.ndbg"
    TraceWriter(path, {}).close()
    assert read_verifications(path) == ()
    first = Verification(
        (Verdict("dying_relu", "'relu'", None, "inconclusive", "why", 0.4, 0.4, interval=(-math.inf, math.inf)),),
        (2, 3), 100, 3, notes=("a note",),
    )  # fmt: skip
    second = Verification((), (0, 0), 1, 1, interrupted=True)
    for verification in (first, second):
        write_verification(path, verification)
    # NaN is not equal to itself: compared as text.
    assert [repr(item) for item in read_verifications(path)] == [repr(second), repr(first)]
    diagnosis = Diagnosis("failed", "It fails.", 3, verifications=read_verifications(path))
    tested = diagnosis.tested("dying_relu")
    assert tested is not None and repr(tested) == repr((first.verdicts[0], first))
    assert diagnosis.tested("another") is None
    write_diagnosis(path, diagnosis)
    assert repr(read_diagnosis(path)) == repr(diagnosis)


def test_numbers_of_numpy_in_a_diagnosis_become_plain_ones(empty_trace):
    event = SemanticEvent("data_anomaly", None, None, "normal", "nan", (0, 1), np.float64(0.5), {"rows": np.arange(2)})
    write_diagnosis(empty_trace, Diagnosis("failed", "x", np.int64(3), events=(event,)))
    kept = read_diagnosis(empty_trace)
    assert kept.steps == 3
    assert kept.events[0].metadata == {"rows": [0, 1]}


def test_two_observations_of_one_step_keep_their_order(tmp_path):
    writer = TraceWriter(tmp_path / "run.ndbg", {})
    places = (writer.place("parameter", "weight"),)
    for step in range(3):
        for micro_batch in range(4):
            writer.observe("gradient.norm", step, places, (10.0 * step + micro_batch,))
            if micro_batch == 1:
                writer.flush()
    writer.close()
    seen, values = read_trace(writer.path).scalar("gradient.norm")
    assert list(seen) == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    assert list(values) == [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]


def test_lists_and_arrays_are_copied_when_they_are_observed(tmp_path):
    writer = TraceWriter(tmp_path / "run.ndbg", {})
    places = [writer.place("module", "a"), writer.place("module", "b")]
    as_list, as_array = [1.0, 2.0], np.array([3.0, 4.0], np.float32)
    writer.observe("list", 0, places, as_list)
    writer.observe("array", 0, places, as_array)
    places.clear()
    as_list.clear()
    as_array.fill(0)
    writer.close()
    trace = read_trace(writer.path)
    assert trace.series("list").values.tolist() == [[1, 2]]
    assert trace.series("array").values.tolist() == [[3, 4]]


def test_a_record_that_cannot_be_stored_is_counted_and_the_rest_is_kept(tmp_path):
    writer = TraceWriter(tmp_path / "run.ndbg", {})
    place = writer.place("module", "a")
    writer.observe("good", 0, (place,), (1.0,))
    writer.observe("no number", 1, (place,), ("one",))
    writer.observe("too few", 1, (place, place), (1.0,))
    writer.observe("no such place", 1, (17,), (1.0,))
    writer.observe("good", 1, (place,), (2.0,))
    writer.close()
    assert writer.failure is None
    trace = read_trace(writer.path)
    assert trace.scalar("good")[1].tolist() == [1, 2]
    assert trace.quantities == ("good",)
    assert trace.meta["malformed"]["count"] == 3


def test_facts_keep_what_has_no_json_form_as_text(tmp_path):
    cycle: dict = {"key": 1}
    cycle["self"] = cycle
    writer = TraceWriter(tmp_path / "run.ndbg", {})
    writer.fact("odd", 0, None, {"path": Path("a"), "kind": int, "set": {2, 1}, "tuple": (1, (2,)), "half": "\ud800"})
    writer.fact("keys", 0, None, {(1, 2): "pair", 3: "three"})
    writer.fact("cycle", 0, None, cycle)
    writer.close()
    trace = read_trace(writer.path)
    data = trace.facts("odd")[0].data
    assert data == {"path": "a", "kind": "<class 'int'>", "set": [1, 2], "tuple": [1, [2]], "half": "\ud800"}
    assert trace.facts("keys")[0].data == {"(1, 2)": "pair", "3": "three"}
    assert trace.facts("cycle")[0].data["key"] == 1


def test_details_of_a_place_are_added_to(tmp_path):
    writer = TraceWriter(tmp_path / "run.ndbg", {})
    first = writer.place("module", "a", {"class": "Linear"})
    assert writer.place("module", "a") == first
    assert writer.place("module", "a", {"source": "train.py:3"}) == first
    writer.close()
    assert read_trace(writer.path).place("module", "a").details == {"class": "Linear", "source": "train.py:3"}
    with pytest.raises(UsageError, match="expected a kind of place"):
        writer.place("modul", "a")


def test_a_trace_can_be_continued(tmp_path):
    path = tmp_path / "run.ndbg"
    for part in range(2):
        writer = TraceWriter(path, {"part": part})
        places = (writer.place("loss", "loss"), writer.place("module", f"only in {part}"))
        for step in range(part * 5, part * 5 + 5):
            writer.observe("value", step, places[:1], (step,))
        writer.close()
    trace = read_trace(path)
    assert trace.scalar("value")[0].tolist() == list(range(10))
    assert [place.name for place in trace.places] == ["loss", "only in 0", "only in 1"]
    assert trace.meta["part"] == 1
    assert trace.steps == 10


def test_last_step_is_what_was_noted_where_that_is_later(tmp_path):
    writer = TraceWriter(tmp_path / "run.ndbg", {})
    writer.observe("value", 3, (writer.place("loss", "loss"),), (1.0,))
    writer.set_meta("last_step", 9)
    writer.set_meta("last_step", 4)
    writer.close()
    assert read_trace(writer.path).last_step == 9
    assert summary(writer.path)["last_step"] == 9
