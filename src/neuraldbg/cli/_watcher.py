"""Follows a trace that another process writes: a look takes what is new, a diagnosis runs beside it."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraldbg.records import Diagnosis
    from neuraldbg.report.live import Moment
    from neuraldbg.trace_store.tail import Tail

#: Seconds between two diagnoses, at least; and as a multiple of what one takes.
DIAGNOSE_EVERY, DIAGNOSE_SHARE = 5.0, 10.0
#: Seconds between two looks are at least this multiple of what the last one took, and at most so many seconds.
LOOK_SHARE, LONGEST_PAUSE = 10.0, 30.0
#: Seconds that a trace may be without the number of its process before it counts as left behind.
NAMELESS = 30.0
#: Seconds over which the steps a second are taken.
RATE_OVER = 10.0
#: Quantities that are followed, with the names of their curves on the screen.
LABELS = {
    "loss.value": "loss",
    "evaluation.loss": "validation",
    "optimizer.learning_rate": "learning rate",
    "gradient.norm": "gradient",
    "update.ratio": "update",
}


class Watcher:
    """Follows a trace; diagnoses it in a thread of its own, so that the screen never stands still."""

    def __init__(self, path: Path) -> None:
        from neuraldbg.trace_store.tail import Tail

        self.tail: Tail = Tail(path, tuple(LABELS))
        self.diagnosis: Diagnosis | None = None
        self.trouble = ""
        #: Seconds that the last look took.
        self.cost = 0.0
        self._thread: threading.Thread | None = None
        self._next = 0.0
        #: Last step and state that were diagnosed.
        self._diagnosed: tuple[int, bool] | None = None
        #: (time, steps) of the looks that found new steps.
        self._seen: deque[tuple[float, int]] = deque(maxlen=200)

    def look(self, wait: bool = False) -> Moment:
        """Reads what is new, and begins a diagnosis when one is due; with ``wait`` it is finished on return.

        Raises:
            NotATrace, TraceTooNew: as read_trace.
        """
        from neuraldbg.cli._verdict import is_running
        from neuraldbg.report.live import Moment

        begin = time.perf_counter()
        self.tail.look()
        self.cost = time.perf_counter() - begin
        meta = self.tail.meta
        # The file is there a moment before it says whose it is.
        begun = not meta.get("pid") and not meta.get("finished") and time.time() - _written(self.tail.path) < NAMELESS
        running = begun or is_running(meta)
        self._diagnose_when_due(running, wait)
        state = "running" if running else "finished" if meta.get("finished") else "its process has gone"
        steps = max(self.tail.last_step, int(meta.get("last_step", -1))) + 1
        self._remember(steps)
        known = {label: name for name, label in LABELS.items() if self.tail.values.get(name)}
        return Moment(
            Path(str(meta.get("script") or self.tail.path.stem)).name,
            steps,
            state,
            {label: self.tail.values[name] for label, name in known.items()},
            self.diagnosis,
            self.trouble,
            {label: self.tail.steps[name] for label, name in known.items()},
            self._rate() if running else None,
            time.time() - self._seen[-1][0],
        )

    def pause(self, every: float) -> float:
        """Seconds until the next look: ``every``, and longer where a look takes long."""
        return max(every, min(LOOK_SHARE * self.cost, LONGEST_PAUSE))

    @property
    def settled(self) -> bool:
        """Whether the run has ended and all of it is diagnosed: nothing will change any more."""
        ended = self._diagnosed is not None and not self._diagnosed[1]
        return ended and self._thread is not None and not self._thread.is_alive()

    def _diagnose_when_due(self, running: bool, wait: bool) -> None:
        idle = self._thread is None or not self._thread.is_alive()
        due = wait or not running or time.monotonic() >= self._next
        if wait and self._thread is not None:
            self._thread.join()
            idle = True
        if idle and due and self._diagnosed != (self.tail.last_step, running):
            self._diagnosed = (self.tail.last_step, running)
            self._thread = threading.Thread(target=self._diagnose, daemon=True)
            self._thread.start()
            if wait:
                self._thread.join()

    def _diagnose(self) -> None:
        from neuraldbg.cli._verdict import judge

        begin = time.thread_time()  # what it costs, not how long it waited for a busy machine
        try:
            self.diagnosis, _ = judge(self.tail.path)
            self.trouble = ""
        except Exception as error:  # the next look may succeed: the curves go on meanwhile
            self.trouble = f"No verdict yet ({type(error).__name__}: {error})."
        self._next = time.monotonic() + max(DIAGNOSE_EVERY, DIAGNOSE_SHARE * (time.thread_time() - begin))

    def _remember(self, steps: int) -> None:
        if not self._seen:
            # Whoever begins to watch late sees at once that the run has stood still.
            self._seen.append((_written(self.tail.path), steps))
        elif steps != self._seen[-1][1]:
            self._seen.append((time.time(), steps))

    def _rate(self) -> float | None:
        """Steps a second over the last seconds, from what is known since watching began."""
        now, steps = self._seen[-1]
        earlier = [(when, count) for when, count in list(self._seen)[1:-1] if when < now]
        if not earlier:
            return None
        begin = next((seen for seen in earlier if now - seen[0] <= RATE_OVER), earlier[-1])
        return max(steps - begin[1], 0) / (now - begin[0])


def _written(path: Path) -> float:
    """When the trace was last written to."""
    times = [time.time() - 3600.0 * 24 * 365]
    for name in (str(path), f"{path}-wal"):
        try:
            times.append(os.stat(name).st_mtime)
        except OSError:
            continue
    return min(max(times), time.time())
