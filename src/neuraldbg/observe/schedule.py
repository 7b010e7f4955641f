"""Which steps are observed: an allowance first, then a measured budget, bursts on alarm.

The length of a run is not known while it runs, so the allowance is spent ever more slowly: every step for its first
half, every second step for the next quarter, every fourth for the next eighth, and so on, with light steps in between
(the loss, gradients and updates, without module hooks). Observing is paid in CPU time
of the training thread: what other processes do to a shared machine is not charged to it.

A step that is not observed carries no module hook at all; what it costs is a wrapped ``backward`` and two optimizer
hooks, some microseconds.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from enum import Enum

#: Steps that are always observed at the start: failures of initialization and wiring show here.
OPENING = 20
#: Steps observed in full after an alarm.
BURST = 20


class Mode(Enum):
    """How a step is observed."""

    #: Not at all: the loss, the learning rates, and alarms.
    NONE = 0
    #: The loss's terms, gradients and update: what needs no module hook.
    LIGHT = 1
    #: Everything.
    FULL = 2


@dataclass
class Schedule:
    """Decides, step by step, whether the next one is observed."""

    #: Seconds of observing that are free: a short run is seen at every step.
    allowance: float = 1.0
    #: Share of the run's time that observing may take once the allowance is used up.
    budget: float = 0.03
    #: Observe every step whatever it costs.
    every_step: bool = False

    def __post_init__(self) -> None:
        self._started = time.perf_counter()
        self._spent = 0.0
        self._entered = 0.0
        self._depth = 0
        self._observed = 0
        self._steps = 0
        self._burst = 0
        self._mean_cost = 0.0
        self._cost_at_step = 0.0
        self._over_since: float | None = None
        self._spent_over = 0.0
        self._since_full = 0
        self._light = 0
        self._mean_light = 0.0

    def enter(self) -> None:
        """Time from here to ``leave`` is ours."""
        if self._depth == 0:
            self._entered = time.thread_time()
        self._depth += 1

    def leave(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._spent += time.thread_time() - self._entered

    def alarm(self) -> None:
        """Something is wrong: look closely for a while, once per stretch of calm."""
        if self._burst == 0:
            self._burst = BURST

    def next_step(self, mode: Mode) -> Mode:
        """Called at the end of a step that was observed as ``mode``; how the next one is observed."""
        self._steps += 1
        cost = self._spent - self._cost_at_step
        self._cost_at_step = self._spent
        if mode is Mode.FULL:
            self._observed += 1
            self._mean_cost = cost if self._observed == 1 else 0.8 * self._mean_cost + 0.2 * cost
            self._since_full = 0
        elif mode is Mode.LIGHT:
            self._light += 1
            self._mean_light = cost if self._light == 1 else 0.8 * self._mean_light + 0.2 * cost
        self._since_full += 1
        if self.every_step or self._observed < OPENING:
            return Mode.FULL
        if self._burst > 0:
            self._burst -= 1
            return Mode.FULL
        if self._spent < self.allowance:
            return Mode.FULL if self._since_full >= self._interval() else Mode.LIGHT
        now = time.perf_counter()
        if self._over_since is None:
            # From here on the budget counts, without debt from the allowance.
            self._over_since, self._spent_over = now, self._spent
        left = self.budget * (now - self._over_since) - (self._spent - self._spent_over)
        if left >= self._mean_cost:
            return Mode.FULL
        # Half of what the budget gives goes to full steps; light ones take from the other half.
        if left >= 0.5 * self._mean_cost + self._mean_light and self._light:
            return Mode.LIGHT
        return Mode.NONE

    def _interval(self) -> int:
        """Steps from one observed step to the next while the allowance lasts: 1, 2, 4, 8 ..."""
        left = 1.0 - self._spent / self.allowance if self.allowance > 0 else 0.0
        return 1 if left >= 0.5 else 2 ** min(16, int(-math.log2(max(left, 1e-6))))

    @property
    def report(self) -> dict[str, float]:
        """What was sampled, for the report."""
        return {
            "steps": self._steps,
            "observed_steps": self._observed,
            "light_steps": self._light,
            "seconds_observing": self._spent,
            "seconds": time.perf_counter() - self._started,
        }
