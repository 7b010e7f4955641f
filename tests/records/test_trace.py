"""A trace reads the same, however its observations were handed over."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neuraldbg.records import Block, Fact, Observation, Place, Trace

PLACES = tuple(Place(number, "module", f"layer{number}") for number in range(4))

observations = st.lists(
    st.tuples(st.integers(0, 5), st.lists(st.integers(0, 3), min_size=1, unique=True), st.floats(width=32)).map(
        lambda drawn: Observation(
            "value", drawn[0], tuple(drawn[1]), tuple(drawn[2] + place for place in range(len(drawn[1])))
        )
    ),
    max_size=12,
)


@given(observations)
def test_blocks_and_single_observations_make_the_same_series(rows):
    blocks = [
        Block(np.array([row.step]), np.array(row.places), np.array([row.values], np.float64).reshape(1, -1))
        for row in rows
    ]
    one = Trace(PLACES, rows, (), {}).series("value")
    other = Trace(PLACES, (), (), {}, {"value": blocks} if blocks else None).series("value")
    assert one.places == other.places
    np.testing.assert_array_equal(one.steps, other.steps)
    np.testing.assert_array_equal(one.values, other.values)
    # And what a series says is what was observed, row for row, in the order of the steps.
    expected = sorted(rows, key=lambda row: row.step)
    assert one.steps.tolist() == [row.step for row in expected]
    for row, values in zip(expected, one.values):
        of_place = dict(zip(row.places, row.values))
        np.testing.assert_array_equal(values, [of_place.get(place.identifier, np.nan) for place in one.places])


def test_a_quantity_that_was_never_observed_is_empty_and_false():
    trace = Trace(PLACES, (), (), {})
    assert not trace.series("value")
    assert trace.scalar("value")[1].size == 0
    assert trace.quantities == ()
    assert (trace.last_step, trace.steps) == (-1, 0)
    assert trace.flow == ()


def test_columns_places_and_facts():
    rows = [Observation("value", 0, (0, 2), (1.0, 2.0)), Observation("value", 3, (2,), (5.0,))]
    facts = [Fact("seen", 4, None, {}), Fact("seen", 1, PLACES[1], {})]
    trace = Trace(PLACES, rows, facts, {"last_step": 7})
    steps, values = trace.series("value").column("layer2")
    assert (steps.tolist(), values.tolist()) == ([0, 3], [2.0, 5.0])
    assert trace.scalar("value")[0].tolist() == [0]
    assert trace.series("value").names == ("layer0", "layer2")
    assert trace.series("value").first.tolist() == [1.0, 2.0]
    assert trace.place("module", "layer3") is PLACES[3]
    assert trace.place("parameter", "layer3") is None
    assert [fact.step for fact in trace.facts("seen")] == [1, 4]
    assert trace.steps == 8
