"""Links, roots, producers, chains, coupled failures."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraldbg.graph import build_graph, chain, coupled_failures, producers, roots
from neuraldbg.graph.build import graph_of, reasons
from neuraldbg.measures.run import Run
from neuraldbg.records import EVENT_TYPES, STATES, Diagnosis
from neuraldbg.testing import event, trace

ACTIVATION, GRADIENT, COURSE = "activation_regime_shift", "gradient_health_transition", "optimizer_instability"
FLOW = "a -> b -> c -> d -> <loss>"


def run_of(steps=400, flow=FLOW):
    return Run(trace({"loss.value": {"loss": [1.0] * steps}}, flow=flow))


def a_learning_rate_that_kills():
    return [
        event(
            COURSE,
            "spike",
            None,
            (30, 399),
            subject="the learning rate",
            sentence="the learning rate rises from 0.1 to 5",
        ),
        event(
            COURSE, "spike", None, 30, subject="the updates", sentence="a step moves the weights by 140 % of their norm"
        ),
        event(ACTIVATION, "dead", "b", (31, 399), sentence="97 % of the units of 'b' are zero on every input"),
        event(GRADIENT, "absent", "b", (31, 399), sentence="the gradient of 'b' is exactly zero"),
        event(COURSE, "plateau", None, (34, 399), subject="the loss", sentence="the loss stays at 1.61"),
    ]


def pairs(graph):
    return {(link.source, link.target): link.reason for link in graph.links}


def test_a_learning_rate_leads_to_dead_units_and_a_resting_loss():
    graph = build_graph(a_learning_rate_that_kills(), run_of())
    found = pairs(graph)
    assert found[(0, 1)] == "learning_rate"
    assert found[(1, 2)] == "update"
    assert found[(2, 3)] == "backward_flow"
    assert found[(2, 4)] == "loss"
    assert roots(graph) == (graph.events[0],)


def test_chain_tells_the_way_from_root_to_symptom():
    graph = build_graph(a_learning_rate_that_kills(), run_of())
    lines = chain(
        graph, [graph.events[0], graph.events[2]], "After 400 steps the loss is 1.61, what a constant guess gives."
    )
    assert lines == (
        "the learning rate rises from 0.1 to 5, step 30",
        "a step moves the weights by 140 % of their norm, step 30",
        "97 % of the units of 'b' are zero on every input, step 31",
        "the gradient of 'b' is exactly zero, step 31",
        "After 400 steps the loss is 1.61, what a constant guess gives",
    )


def test_dead_units_from_the_start_have_no_learning_rate_before_them():
    events = [event(ACTIVATION, "dead", "b", (0, 399)), *a_learning_rate_that_kills()[:2]]
    graph = build_graph(events, run_of())
    assert graph.events[0] in roots(graph)
    assert not graph.links or all(link.target != 0 for link in graph.links)


def test_a_producer_of_nan_is_told_apart_from_those_that_pass_it_on():
    events = [
        event(ACTIVATION, "exploding", "b", (10, 20)),
        event(ACTIVATION, "non_finite", "c", (20, 30), produces=True),
        event(COURSE, "non_finite", None, (20, 30), subject="the loss"),
        event(GRADIENT, "non_finite", "d", (20, 30)),
        event(ACTIVATION, "non_finite", "a", (21, 30)),
    ]
    graph = build_graph(events, run_of())
    assert producers(graph) == (events[1],)
    assert roots(graph) == (events[0],)
    assert pairs(graph)[(0, 1)] == "forward_flow"


def test_nan_that_comes_with_the_data_begins_there():
    events = [
        event("data_anomaly", "nan", None, 5, subject="the input [0]"),
        event(ACTIVATION, "non_finite", "a", (5, 9)),
        event(COURSE, "non_finite", None, (5, 9), subject="the loss"),
    ]
    graph = build_graph(events, run_of())
    assert producers(graph) == roots(graph) == (events[0],)


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([event(ACTIVATION, "exploding", "a", 3), event(ACTIVATION, "saturated", "c", 3)], "forward_flow"),
        ([event(ACTIVATION, "saturated", "c", 3), event(GRADIENT, "vanishing", "a", 3)], "backward_flow"),
        ([event(GRADIENT, "exploding", "d", 3), event(GRADIENT, "exploding", "a", 3)], "backward_flow"),
        ([event(ACTIVATION, "dead", "a", 3), event(COURSE, "plateau", None, 5, subject="the loss")], "loss"),
        ([event(COURSE, "non_finite", None, 3, subject="the loss"), event(GRADIENT, "non_finite", "d", 3)], "loss"),
        ([event(GRADIENT, "exploding", "a", 3), event(COURSE, "spike", None, 3, subject="the updates")], "update"),
        ([event(COURSE, "spike", None, 3, subject="the updates"), event(ACTIVATION, "dead", "a", 4)], "update"),
        (
            [
                event(COURSE, "plateau", None, (3, 9), subject="the learning rate"),
                event(COURSE, "not_learning", None, 4, subject="the updates"),
            ],
            "learning_rate",
        ),
        (
            [
                event(
                    "wiring_fault",
                    "faulty",
                    None,
                    (0, 9),
                    subject="the optimizer",
                    findings=("weight_decay_dominates",),
                ),
                event(COURSE, "not_learning", None, 4, subject="the weights"),
            ],
            "learning_rate",
        ),
        (
            [
                event("data_anomaly", "unscaled", None, 0, subject="the input [0]"),
                event(ACTIVATION, "saturated", "a", 0),
            ],
            "data",
        ),
        (
            [
                event("data_anomaly", "outlier", None, 7, subject="the targets"),
                event(COURSE, "spike", None, 7, subject="the loss"),
            ],
            "data",
        ),
        (
            [
                event("wiring_fault", "faulty", "c", (0, 9), detector="graph_cut"),
                event(GRADIENT, "absent", "a", (0, 9)),
            ],
            "wiring",
        ),
        (
            [event("precision_anomaly", "overflow", "b", 3), event(ACTIVATION, "non_finite", "c", 3)],
            "number_format",
        ),
    ],
)
def test_each_reason_draws_its_link(events, reason):
    graph = build_graph(events, run_of())
    assert (0, 1) in pairs(graph)
    assert reason in {link.reason for link in graph.links if (link.source, link.target) == (0, 1)}


@pytest.mark.parametrize(
    "events",
    [
        # Against the data flow, though both begin in one step.
        [event(ACTIVATION, "exploding", "c", 3), event(ACTIVATION, "saturated", "a", 3)],
        # A gradient does not reach modules behind the one where it vanishes.
        [event(ACTIVATION, "saturated", "a", 3), event(GRADIENT, "vanishing", "c", 3)],
        # The effect came first.
        [event(ACTIVATION, "dead", "a", 3), event(COURSE, "spike", None, 4, subject="the updates")],
        # Long over.
        [event(ACTIVATION, "dead", "a", 3), event(COURSE, "plateau", None, 300, subject="the loss")],
        # A cut does not take the gradient of what lies behind it.
        [event("wiring_fault", "faulty", "a", (0, 9), detector="graph_cut"), event(GRADIENT, "absent", "d", (0, 9))],
        # States that do not make each other.
        [event(ACTIVATION, "vanishing", "a", 3), event(COURSE, "spike", None, 4, subject="the loss")],
    ],
)
def test_no_link_without_a_reason(events):
    assert build_graph(events, run_of()).links == ()


def test_branches_that_do_not_meet_are_not_linked():
    run = run_of(flow="a -> b -> <loss>; a -> c -> <loss>")
    assert (
        build_graph([event(ACTIVATION, "exploding", "b", 3), event(ACTIVATION, "saturated", "c", 3)], run).links == ()
    )


def test_a_chain_has_one_line_per_kind_and_at_most_six():
    events = [event(ACTIVATION, "exploding", "a", 3), event(ACTIVATION, "exploding", "c", 40, sentence="second")]
    events += a_learning_rate_that_kills()
    graph = build_graph(sorted(events, key=lambda e: e.step_range), run_of())
    lines = chain(graph, graph.events, "The loss stays.")
    assert 2 <= len(lines) <= 6
    assert all(", step " in line for line in lines[:-1])


def test_a_chain_is_never_empty_when_there_are_seeds():
    lonely = event("wiring_fault", "faulty", "a", 0, sentence="'a' is odd", detector="linear_stack")
    graph = build_graph([lonely], run_of())
    assert chain(graph, [lonely], "It fails.") == ("'a' is odd, step 0", "It fails")
    assert chain(graph, [0], "") == ("'a' is odd, step 0",)
    assert chain(graph, [], "It fails.") == ("It fails",)
    assert chain(build_graph([], run_of()), [], "") == ()


def test_coupled_failures_say_which_way_the_influence_went():
    events = tuple(a_learning_rate_that_kills())
    graph = build_graph(events, run_of())
    found = coupled_failures(Diagnosis("failed", "", 400, events=events, links=graph.links))
    assert len(found) == len(graph.links)
    assert {pair.direction for pair in found} <= {"forward", "backward", "update", "data"}
    assert [pair.strength for pair in found] == sorted((pair.strength for pair in found), reverse=True)
    kill = next(
        pair for pair in found if pair.target.to_state == "dead" and pair.source.metadata["subject"] == "the updates"
    )
    assert (kill.direction, kill.lag) == ("update", 1)


def test_a_reason_that_fails_becomes_a_note(monkeypatch):
    def fails(events, run):
        raise KeyError("x")

    monkeypatch.setattr(reasons()["data"], "links", fails)
    graph, notes = graph_of(a_learning_rate_that_kills(), run_of())
    assert notes == ("link data failed: KeyError: 'x'",)
    assert graph.links


KINDS = [(kind, state) for kind in EVENT_TYPES for state in STATES[kind][1:]]


@settings(deadline=None, max_examples=60)  # a shared machine is slow now and then
@given(
    st.lists(
        st.tuples(
            st.sampled_from(KINDS),
            st.sampled_from(["a", "b", "c", "d", "", None]),
            st.integers(0, 50),
            st.integers(0, 50),
            st.sampled_from(["the loss", "the updates", "the input [0]", "the targets", "the learning rate"]),
        ),
        max_size=12,
    )
)
def test_time_runs_forward_whatever_the_events(rows):
    events = [
        event(kind, state, layer, (first, first + length), subject=subject)
        for (kind, state), layer, first, length, subject in rows
    ]
    events.sort(key=lambda e: e.step_range)
    graph, notes = graph_of(events, run_of())
    assert notes == ()
    assert nx.is_directed_acyclic_graph(graph.graph)
    for link in graph.links:
        assert 0 <= link.strength <= 1
        assert link.lag == events[link.target].step_range[0] - events[link.source].step_range[0] >= 0
    if events:
        assert roots(graph)
        assert 1 <= len(chain(graph, events, "It fails.")) <= 6
