"""A trace stays within its size, and loses what matters least."""

import numpy as np

from neuraldbg.trace_store import TraceWriter, read_trace

LIMIT = 2_000_000
WIDE = 60
STEPS = 12_000


def record(path, limit: int, stride: int = 1) -> TraceWriter:
    """60 places and one loss for 12,000 steps: about 6 MB in full."""
    writer = TraceWriter(path, {}, limit_bytes=limit)
    wide = tuple(writer.place("module", f"layer{i}") for i in range(WIDE))
    loss = (writer.place("loss", "loss"),)
    for step in range(STEPS):
        if step % stride == stride // 2:
            writer.observe("wide", step, wide, [step + i / 100 for i in range(WIDE)])
        writer.observe("loss", step, loss, (float(step),))
        if step % 1000 == 0:
            writer.fact("tick", step, None, {"step": step})
        if step % 100 == 0:
            writer.flush()
    writer.close()
    return writer


def test_old_wide_detail_is_halved_and_the_rest_stays(tmp_path):
    writer = record(tmp_path / "run.ndbg", LIMIT)
    assert writer.failure is None
    assert writer.path.stat().st_size < LIMIT * 1.25
    trace = read_trace(writer.path)
    assert trace.meta["thinned"]["passes"] >= 2
    assert trace.scalar("loss")[0].tolist() == list(range(STEPS))
    assert len(trace.facts("tick")) == 12
    series = trace.series("wide")
    steps = series.steps.tolist()
    assert steps[:50] == list(range(50))
    assert steps[-500:] == list(range(STEPS - 500, STEPS))
    # What is left is spread over the run: no gap much larger than the thinning explains, and no number changed.
    assert max(np.diff(steps)) <= 2 ** (trace.meta["thinned"]["passes"] + 1)
    np.testing.assert_array_equal(series.values, series.steps[:, None] + np.arange(WIDE) / 100)


def test_a_trace_within_its_limit_is_left_alone(tmp_path):
    writer = record(tmp_path / "run.ndbg", 100_000_000)
    trace = read_trace(writer.path)
    assert "thinned" not in trace.meta
    assert len(trace.series("wide").steps) == STEPS


def test_a_schedule_of_odd_steps_is_halved_not_erased(tmp_path):
    writer = record(tmp_path / "run.ndbg", 500_000, stride=2)
    steps = read_trace(writer.path).series("wide").steps
    assert set(steps % 2) == {1}
    assert len(steps[(steps >= 50) & (steps < STEPS - 500)]) > 50


def test_a_limit_below_what_must_stay_ends_and_keeps_it(tmp_path):
    writer = record(tmp_path / "run.ndbg", 10_000)
    assert writer.failure is None
    steps = read_trace(writer.path).series("wide").steps.tolist()
    assert steps[:50] == list(range(50))
    assert steps[-500:] == list(range(STEPS - 500, STEPS))
