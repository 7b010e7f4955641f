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
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

#: Steps that are always observed at the start: failures of initialization and wiring show here.
OPENING = 20
#: Steps observed in full after an alarm.
BURST = 20
#: Bursts that are granted whatever they cost; later ones wait until the budget has recovered.
FREE_BURSTS = 3
#: Single steps that are looked at whatever it costs, since their loss jumped.
FREE_LOOKS = 3
#: Steps between two looks at the clock at the most.
LONGEST_SKIP = 256
#: Seconds of a callback that its own timing does not see: the call itself, and half of each reading of the clock.
_CALL = 1e-6
#: Share of the budget that goes to observed steps even where the fixed cost of the others uses up all of it.
_LEAST = 0.25


class Mode(Enum):
    """How a step is observed."""

    #: Not at all: the loss, the learning rates, and alarms.
    NONE = 0
    #: The loss's terms, gradients and update: what needs no module hook.
    LIGHT = 1
    #: Everything.
    FULL = 2


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


@dataclass
class Schedule:
    """Decides, step by step, whether the next one is observed."""

    #: Seconds of observing that are free: a short run is seen at every step.
    allowance: float = 1.0
    #: Share of the run's time that observing may take once the allowance is used up, the fixed cost included.
    budget: float = 0.03
    #: Observe every step whatever it costs.
    every_step: bool = False
    #: Seconds of CPU that the training thread has used.
    clock: Callable[[], float] = time.thread_time

    def __post_init__(self) -> None:
        self._started = time.perf_counter()
        self._spent = 0.0
        self._entered = 0.0
        self._depth = 0
        self._observed = 0
        self._steps = 0
        self._burst = 0
        self._bursts = 0
        self._looks = 0
        self._mean_cost = 0.0
        self._over_since: float | None = None
        self._spent_over = 0.0
        self._left = 0.0
        self._since_full = 0
        self._light = 0
        self._mean_light = 0.0
        self._mean_none = 0.0
        self._unobserved = 0
        self._timed: deque[float] = deque(maxlen=15)
        #: Steps that will surely not be observed, for which nothing need be decided: each takes one off.
        self.skip = 0
        self._planned = 0
        self._decided_at = 0.0
        self._closed_at: float | None = None
        self._hidden = 0.0
        self._fixed = 0.0
        self._bare: deque[float] = deque(maxlen=15)
        self._under_hooks: deque[float] = deque(maxlen=7)
        self._decided_step = 0
        #: Whether an unobserved step is timed all the same: one in many, to know what they cost.
        self.timing = False
        #: CPU and wall time at the first callback of an observed step.
        self._window: tuple[float, float] | None = None
        #: Share of wall time in which this thread has had a processor, in the last observed step.
        self._running = 1.0
        self._wall = 0.0

    def restart(self) -> None:
        """Count the budget from now on, as if the allowance had just been used up."""
        self._give_up_plan()
        self._over_since, self._spent_over, self._closed_at = None, self._spent, None

    def enter(self) -> None:
        """Time from here to ``leave`` is ours."""
        if self._depth == 0:
            if self.skip:
                self._give_up_plan()
            if self._window is None and not self.timing:
                self._window = (self.clock(), time.perf_counter())
            self._entered = time.perf_counter()
        self._depth += 1

    def leave(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._wall += time.perf_counter() - self._entered + _CALL

    def _settle(self) -> float:
        """Seconds of CPU that this step's observing took; added to what was spent.

        Reading the wall clock costs a tenth of reading the CPU clock, but what other processes take from a shared
        machine is not ours: the share of it is measured once per step, over the step.
        """
        if self._window is not None:
            elapsed = time.perf_counter() - self._window[1]
            if elapsed > 0:
                self._running = min(1.0, max(0.02, (self.clock() - self._window[0]) / elapsed))
            self._window = None
        cost, self._wall = self._wall * self._running, 0.0
        self._spent += cost
        return cost

    def alarm(self, serious: bool = True) -> None:
        """Something is wrong: look closely for a while, once per stretch of calm and while it is affordable."""
        if self._burst == 0 and self.affordable(serious):
            self._burst = BURST
            self._bursts += serious
            self._give_up_plan()
            self._left = -math.inf  # until the next decision, after the burst

    def affordable(self, serious: bool = True) -> bool:
        """Whether something unplanned may be observed: the first values that are not finite at any price, other alarms
        while the budget is not in debt."""
        return (serious and self._bursts < FREE_BURSTS) or self._over_since is None or self._left >= 0

    def look(self, serious: bool) -> bool:
        """Whether the step at hand is observed though it was not to be: where affordable, and the first times."""
        if self.affordable(serious):
            return True
        self._looks += 1
        return self._looks <= FREE_LOOKS

    def _count_passed(self) -> None:
        """Account for the steps that were not observed since the last plan."""
        passed, self._planned = self._planned - self.skip, self.skip
        if passed:
            self._steps += passed
            self._spent += passed * self._mean_none
            self._fixed += passed * self._mean_none
            self._closed_at = None

    def _give_up_plan(self) -> None:
        self._count_passed()
        self.skip = self._planned = 0

    def next_step(self, mode: Mode) -> Mode:
        """Called at the end of a step that was observed as ``mode``; how the next one is observed."""
        if mode is Mode.NONE and self.skip > 0:
            self.skip -= 1
            return Mode.NONE
        self._give_up_plan()
        self._steps += 1
        if mode is Mode.NONE and not self.timing and self._wall == 0.0:
            self._spent += self._mean_none
            self._fixed += self._mean_none
        cost = self._settle()
        self._compare(mode, cost)
        if mode is Mode.FULL:
            self._observed += 1
            self._mean_cost = cost if self._observed == 1 else 0.8 * self._mean_cost + 0.2 * cost
            self._since_full = 0
        elif mode is Mode.LIGHT:
            self._light += 1
            self._mean_light = cost if self._light == 1 else 0.8 * self._mean_light + 0.2 * cost
        elif self.timing:
            # The median: a step in which the processor was taken away would count for a hundred others.
            self._timed.append(cost)
            self._mean_none = _median(self._timed)
        self._since_full += 1
        chosen = self._choose()
        self._unobserved = self._unobserved + 1 if chosen is Mode.NONE else 0
        self.timing = chosen is Mode.NONE and (len(self._timed) < 8 or self._unobserved == 1)
        if self.timing:
            self.skip = self._planned = 0
        return chosen

    def _compare(self, mode: Mode, cost: float) -> None:
        """What a full step costs beyond its callbacks: memory held longer, colder caches.

        It is compared with steps that carry no module hook, each without its callbacks, from close to close. Counted
        against the budget, not against the allowance, which is for looking closely.
        """
        now, before = self.clock(), self._closed_at
        self._closed_at = now
        if before is None:
            return
        own = max(0.0, now - before - cost)
        if mode is not Mode.FULL:
            self._bare.append(own)
            return
        self._under_hooks.append(own)
        if len(self._bare) >= 5 and len(self._under_hooks) >= 3:
            # A loop whose steps differ by themselves must not be taken for one that we slow down.
            self._hidden = min(2 * cost, max(0.0, _median(self._under_hooks) - _median(self._bare)))
        if self._over_since is not None:
            self._spent += self._hidden

    def _choose(self) -> Mode:
        if self.every_step or self._observed < OPENING:
            return Mode.FULL
        if self._burst > 0:
            self._burst -= 1
            return Mode.FULL
        if self._spent < self.allowance:
            return Mode.FULL if self._since_full >= self._interval() else Mode.LIGHT
        now = self.clock()
        if self._over_since is None:
            # From here on the budget counts, without debt from the allowance.
            self._over_since, self._spent_over, self._fixed = now, self._spent, 0.0
            self._decided_at, self._decided_step = now, self._steps
        allowed, spent = self.budget * (now - self._over_since), self._spent - self._spent_over
        # Steps so short that their fixed cost takes the whole budget are looked at all the same, rarely.
        self._left = left = max(allowed - spent, _LEAST * allowed - (spent - self._fixed))
        full = self._mean_cost + self._hidden
        if left >= full:
            return Mode.FULL
        # Half of what the budget gives goes to full steps; light ones take from the other half.
        wanted = 0.5 * full + self._mean_light if self._light else full
        if left >= wanted:
            return Mode.LIGHT
        self._plan(now, wanted - left)
        return Mode.NONE

    def _plan(self, now: float, missing: float) -> None:
        """Steps that surely cannot be afforded, for which the clock need not be read: half of what is expected."""
        steps = self._steps - self._decided_step
        if steps > 0:
            each = max(1e-9, (now - self._decided_at) / steps)
            gain = self.budget * each - self._mean_none
            self.skip = min(LONGEST_SKIP, int(0.5 * missing / gain)) if gain > 0 else LONGEST_SKIP
            self._planned = self.skip
        self._decided_at, self._decided_step = now, self._steps

    def _interval(self) -> int:
        """Steps from one observed step to the next while the allowance lasts: 1, 2, 4, 8 ..."""
        left = 1.0 - self._spent / self.allowance if self.allowance > 0 else 0.0
        return 1 if left >= 0.5 else 2 ** min(16, int(-math.log2(max(left, 1e-6))))

    @property
    def report(self) -> dict[str, float]:
        """What was sampled, for the report."""
        self._count_passed()
        return {
            "steps": self._steps,
            "observed_steps": self._observed,
            "light_steps": self._light,
            "seconds_observing": self._spent,
            "seconds": time.perf_counter() - self._started,
        }
