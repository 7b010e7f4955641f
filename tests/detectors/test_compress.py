"""Compression over time and over neighbours."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraldbg.detectors import detect_events
from neuraldbg.detectors._compress import compress
from neuraldbg.measures.run import Run
from neuraldbg.testing import event, trace

ACTIVATION, GRADIENT = "activation_regime_shift", "gradient_health_transition"


def run_of(steps=200, observed=None, flow="a -> b -> c -> d -> <loss>"):
    rows = {step: 1.0 for step in (observed if observed is not None else range(steps))}
    return Run(trace({"gradient.norm": {"SGD": rows}, "loss.value": {"loss": [1.0] * steps}}, flow=flow, steps=steps))


def test_consecutive_events_at_one_place_become_one_with_a_range():
    found = compress([event(ACTIVATION, "dead", "a", step) for step in range(5, 30)], run_of())
    assert [(e.layer, e.step_range) for e in found] == [("a", (5, 29))]


def test_steps_that_were_not_sampled_are_no_gap():
    observed = [0, 1, 2, 10, 20, 40, 80, 160]
    found = compress([event(ACTIVATION, "dead", "a", step) for step in observed], run_of(observed=observed))
    assert [e.step_range for e in found] == [(0, 160)]


def test_a_recovery_of_three_observed_steps_ends_an_event():
    found = compress([event(ACTIVATION, "dead", "a", (3, 5)), event(ACTIVATION, "dead", "a", (9, 12))], run_of())
    assert [e.step_range for e in found] == [(3, 5), (9, 12)]
    found = compress([event(ACTIVATION, "dead", "a", (3, 5)), event(ACTIVATION, "dead", "a", (8, 12))], run_of())
    assert [e.step_range for e in found] == [(3, 12)]


def test_what_comes_and_goes_is_told_once_with_how_often():
    found = compress([event(GRADIENT, "exploding", "a", step) for step in (10, 30, 60, 90, 120)], run_of())
    assert len(found) == 1
    assert found[0].step_range == (10, 120)
    assert found[0].metadata["onsets"] == [10, 30, 60, 90, 120]
    assert "(5 times in the run)" in found[0].metadata["sentence"]


def test_the_clearer_stretch_gives_the_words_and_both_give_findings():
    weak = event(ACTIVATION, "dead", "a", (3, 5), confidence=0.6, sentence="weak", findings=("one",))
    clear = event(ACTIVATION, "dead", "a", (6, 9), confidence=0.9, sentence="clear", findings=("two",))
    (found,) = compress([weak, clear], run_of())
    assert (found.metadata["sentence"], found.confidence) == ("clear", 0.9)
    assert set(found.metadata["findings"]) == {"one", "two"}


def test_different_states_and_places_stay_apart():
    events = [
        event(ACTIVATION, "dead", "a", 5),
        event(ACTIVATION, "saturated", "b", 5),
        event(GRADIENT, "vanishing", "a", 5),
        event("optimizer_instability", "spike", None, 5, subject="the loss"),
        event("optimizer_instability", "spike", None, 5, subject="the updates"),
    ]
    assert len(compress(events, run_of())) == 5


def test_a_kind_that_spreads_forward_is_one_propagation():
    events = [event(ACTIVATION, "dead", layer, 10 + 3 * index) for index, layer in enumerate("abcd")]
    (found,) = compress(events, run_of())
    spread = found.metadata["propagation"]
    assert (found.layer, found.step_range) == ("a", (10, 19))
    assert (spread["origin"], spread["order"], spread["direction"]) == ("a", ["a", "b", "c", "d"], "forward")
    assert spread["speed"] == 3.0


def test_a_kind_that_spreads_backward_is_named_after_its_end():
    events = [event(GRADIENT, "exploding", layer, 10 + index) for index, layer in enumerate("dcba")]
    (found,) = compress(events, run_of())
    assert (found.layer, found.metadata["propagation"]["direction"]) == ("d", "backward")


@pytest.mark.parametrize(
    ("kind", "state", "origin", "direction"),
    [(ACTIVATION, "non_finite", "a", "forward"), (GRADIENT, "non_finite", "d", "backward")],
)
def test_within_a_step_the_way_of_data_and_gradients_decides(kind, state, origin, direction):
    (found,) = compress([event(kind, state, layer, 7) for layer in "bdac"], run_of())
    assert (found.layer, found.metadata["propagation"]["direction"]) == (origin, direction)


def test_places_far_apart_in_the_flow_or_in_time_stay_apart():
    flow = " -> ".join([*"abcdefgh", "<loss>"])
    assert len(compress([event(ACTIVATION, "dead", layer, 5) for layer in "ah"], run_of(flow=flow))) == 2
    late = [event(ACTIVATION, "dead", "a", 5), event(ACTIVATION, "dead", "b", 150)]
    assert len(compress(late, run_of())) == 2


def test_fifty_layers_that_explode_read_as_one_line_with_their_origin():
    layers = [f"blocks.{index}" for index in range(50)]
    columns = {name: [1.6 ** (49 - index)] * 20 for index, name in enumerate(layers)}
    run = Run(trace({"module.output_gradient_norm": columns}, flow=" -> ".join([*layers, "<loss>"]), steps=20))
    events, notes = detect_events(run)
    assert notes == ()
    (found,) = [e for e in events if e.to_state == "exploding"]
    assert found.layer == "blocks.39"  # 1.6 ** 10 is the first factor above a hundred
    assert found.metadata["propagation"]["places"] == 40
    assert found.metadata["propagation"]["direction"] == "backward"
    # The log-gains of the modules add up to the whole growth.
    gains = [gain for layer, gain in found.metadata["gains"].items() if layer != layers[0]]
    assert sum(gains) == pytest.approx(len(gains) * math.log10(1.6))
    assert len(str(found)) < 250


def test_a_failing_detector_becomes_a_note(monkeypatch):
    from neuraldbg.detectors import detectors

    def fails(run):
        raise ZeroDivisionError("no steps")
        yield

    monkeypatch.setattr(detectors()["loss_spike"], "detect", fails)
    events, notes = detect_events(Run(trace({"loss.value": {"loss": [1.0] * 30}})))
    assert notes == ("detector loss_spike failed: ZeroDivisionError: no steps",)
    assert {e.metadata["detector"] for e in events} == {"loss_not_learning"}


@settings(deadline=None, max_examples=60)  # a shared machine is slow now and then
@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.integers(0, 199), st.sampled_from(["dead", "saturated"])), max_size=40
    )
)
def test_compression_loses_no_place_and_no_step(rows):
    events = [event(ACTIVATION, state, layer, step) for layer, step, state in rows]
    found = compress(events, run_of())
    assert len(found) <= len(events)
    assert [e.step_range[0] for e in found] == sorted(e.step_range[0] for e in found)
    for single in events:
        assert any(
            e.to_state == single.to_state and e.step_range[0] <= single.step_range[0] <= e.step_range[1] for e in found
        )
