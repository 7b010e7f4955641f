"""What holds for every kind of reason in graph/links."""

from __future__ import annotations

import inspect

import pytest

from helpers.healthy_run import run_with
from neuraldbg.graph.build import DIRECTIONS, reasons
from neuraldbg.measures.run import Run
from neuraldbg.records import EVENT_TYPES, STATES
from neuraldbg.testing import event, trace

REASONS = sorted(reasons())
ONE_OF_EACH = [
    event(kind, state, layer, (step, step + 9), subject=subject, detector="graph_cut")
    for step, (kind, state) in enumerate((kind, state) for kind in EVENT_TYPES for state in STATES[kind][1:])
    for layer, subject in (("fc1", "the loss"), (None, "the input [0]"), (None, "the loss"), (None, "the updates"))
]


@pytest.mark.parametrize("name", REASONS)
def test_has_a_page_and_a_direction(name):
    page = inspect.getdoc(reasons()[name]) or ""
    assert len(page.splitlines()) >= 3 and page.splitlines()[0].endswith(".")
    assert DIRECTIONS[name] in ("forward", "backward", "update", "data")


@pytest.mark.parametrize("name", REASONS)
def test_links_are_well_formed(name):
    run = run_with()
    for link in reasons()[name].links(ONE_OF_EACH, run):
        assert link.reason == name
        assert link.source != link.target
        assert 0 < link.strength <= 1
        assert {link.source, link.target} <= set(range(len(ONE_OF_EACH)))


@pytest.mark.parametrize("name", REASONS)
def test_survives_nothing_and_a_run_without_flow(name):
    assert list(reasons()[name].links([], Run(trace()))) == []
    assert all(link.reason == name for link in reasons()[name].links(ONE_OF_EACH, Run(trace())))


def test_no_other_directions_are_named():
    assert set(DIRECTIONS) == set(REASONS)
