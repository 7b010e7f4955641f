"""The budget on a clock that the test turns: what observing may take, whatever a step costs."""

from __future__ import annotations

import pytest

from neuraldbg.observe import schedule as module
from neuraldbg.observe.schedule import OPENING, Mode, Schedule


class Clock:
    """Both the CPU clock and the wall clock."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module.time, "perf_counter", made)
    return made


def _run(
    clock: Clock, schedule: Schedule, steps: int, bare: float, full: float, hidden: float = 0.0, fixed: float = 0.0
) -> tuple[float, list[Mode]]:
    """Time above bare steps, over the time of bare ones, and how each step was observed."""
    mode, modes, extra = Mode.FULL, [], 0.0
    for _ in range(steps):
        clock.now += bare
        cost = {Mode.FULL: full, Mode.LIGHT: full / 4, Mode.NONE: fixed}[mode]
        extra += cost
        if mode is not Mode.NONE or schedule.timing:
            schedule.enter()
            clock.now += cost
            schedule.leave()
        else:
            clock.now += cost
        if mode is Mode.FULL:
            clock.now += hidden
            extra += hidden
        modes.append(mode)
        mode = schedule.next_step(mode)
    return extra / (bare * steps), modes


@pytest.mark.parametrize("full", [0.001, 0.05, 1.0])
@pytest.mark.parametrize("fixed", [0.0, 0.0001])
def test_the_steady_state_stays_within_the_budget(clock: Clock, full: float, fixed: float) -> None:
    schedule = Schedule(allowance=0.0, clock=clock)
    _run(clock, schedule, OPENING, 0.01, full)
    share, modes = _run(clock, schedule, 20_000, 0.01, full, fixed=fixed)
    assert share <= 0.031
    assert share >= 0.02, "a budget that is not used tells less than it could"
    assert Mode.FULL in modes


def test_what_the_callbacks_do_not_see_counts(clock: Clock) -> None:
    schedule = Schedule(allowance=0.0, clock=clock)
    _run(clock, schedule, OPENING, 0.01, 0.005, hidden=0.008)
    share, _ = _run(clock, schedule, 20_000, 0.01, 0.005, hidden=0.008)
    assert 0.02 <= share <= 0.035


def test_a_short_run_is_seen_at_every_step(clock: Clock) -> None:
    schedule = Schedule(clock=clock)
    _, modes = _run(clock, schedule, 100, 0.001, 0.004)
    assert set(modes) == {Mode.FULL}


def test_bursts_are_paid_back(clock: Clock) -> None:
    schedule = Schedule(allowance=0.0, clock=clock)
    _run(clock, schedule, OPENING, 0.01, 0.02)
    full = 0
    mode = Mode.NONE
    for step in range(20_000):
        clock.now += 0.01
        if step % 7 == 0:
            schedule.alarm(serious=False)
        if mode is Mode.FULL:
            schedule.enter()
            clock.now += 0.02
            schedule.leave()
            full += 1
        mode = schedule.next_step(mode)
    assert full * 0.02 / (20_000 * 0.01) <= 0.04


def test_every_step(clock: Clock) -> None:
    _, modes = _run(clock, Schedule(every_step=True, clock=clock), 500, 0.01, 1.0)
    assert set(modes) == {Mode.FULL}


def test_steps_that_are_all_fixed_cost_are_looked_at_now_and_then(clock: Clock) -> None:
    schedule = Schedule(allowance=0.0, clock=clock)
    _run(clock, schedule, OPENING, 0.0005, 0.005)
    share, modes = _run(clock, schedule, 50_000, 0.0005, 0.005, fixed=0.00003)
    assert modes.count(Mode.FULL) >= 10
    assert share <= 0.06 + 0.25 * 0.03 + 0.002
