"""From numbers and facts to the trace file: places by name, one write per step, notes about our own failures."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from neuraldbg.observe.pending import Pending
from neuraldbg.observe.rounds import Rounds

if TYPE_CHECKING:
    from neuraldbg.trace_store.writer import TraceWriter


class _Held:
    """Stands in for the writer while it is open whether steps will be counted by optimizer or by backward."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, Sequence[int], Sequence[float]]] = []

    def observe(self, quantity: str, step: int, places: Sequence[int], values: Sequence[float]) -> None:
        self.rows.append((quantity, step, tuple(places), tuple(values)))


class Recorder:
    """Everything observed goes through here."""

    def __init__(self, writer: TraceWriter) -> None:
        self.writer = writer
        self._held: _Held | None = _Held()
        self.pending = Pending(self)  # type: ignore[arg-type]
        self.closed_step = -1
        self._places: dict[tuple[str, str], int] = {}
        self._failures: set[str] = set()

    def place(self, kind: str, name: str, details: Mapping[str, Any] | None = None) -> int:
        key = (kind, name)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = self.writer.place(kind, name, dict(details or {}))
        return found

    def knows(self, kind: str, name: str) -> bool:
        return (kind, name) in self._places

    def place_names(self) -> list[tuple[str, str]]:
        """(kind, name) of every place so far, in order of appearance."""
        return list(self._places)

    def add(self, quantity: str, place: int, value: Tensor | float) -> None:
        """A number of the step in progress."""
        self.pending.add(quantity, place, value)

    def observe(self, quantity: str, step: int, place: int | Sequence[int], value: float | Sequence[float]) -> None:
        """Numbers of a step, at once."""
        places = (place,) if isinstance(place, int) else place
        values = (value,) if isinstance(value, (int, float)) else value
        if self._held is not None:
            self._held.observe(quantity, step, places, values)
        else:
            self.writer.observe(quantity, step, places, values)

    def fact(self, name: str, step: int, place: int | None, data: Mapping[str, Any]) -> None:
        self.writer.fact(name, step, place, dict(data))

    def write(self, rounds: Rounds) -> None:
        """Read what is pending, in one copy, and write it under the current step."""
        if not self.pending.waiting:
            return
        step = rounds.step
        if rounds.optimizer_steps == 0:
            step = max(0, rounds.backwards - 1)
        self.pending.write(step)

    def release(self, rounds: Rounds) -> None:
        """An optimizer has stepped: what was held belongs to the first round."""
        if self._held is not None:
            held, self._held = self._held, None
            for quantity, _, places, values in held.rows:
                self.writer.observe(quantity, 0, places, values)

    def release_if_waiting(self, rounds: Rounds) -> None:
        """No optimizer step for many backwards: what was held is counted by backwards."""
        if self._held is not None and rounds.by_backward:
            self._release_by_backward()

    def _release_by_backward(self) -> None:
        held, self._held = self._held, None
        for quantity, step, places, values in held.rows if held is not None else ():
            self.writer.observe(quantity, step, places, values)

    def finish(self, rounds: Rounds) -> None:
        self.write(rounds)
        self.pending.flush()
        if self._held is not None:
            self._release_by_backward()
        self.note_progress(rounds)

    def note_progress(self, rounds: Rounds) -> None:
        """How many steps there were so far, and of which kind; what lies on a device is read."""
        self.pending.flush()
        last = rounds.step
        if rounds.optimizer_steps == 0:
            last = rounds.backwards - 1
        self.writer.set_meta("last_step", last)
        self.writer.set_meta(
            "counts",
            {
                "backwards": rounds.backwards,
                "optimizer_steps": rounds.optimizer_steps,
                "skipped_steps": rounds.skipped_steps,
                "counted_by": "backward" if rounds.optimizer_steps == 0 else "optimizer",
            },
        )

    def failed(self, where: str, error: BaseException) -> None:
        """One of our own callbacks failed: say so in the trace, once per kind, and go on."""
        key = f"{where}: {type(error).__name__}: {error}"
        if key not in self._failures and len(self._failures) < 50:
            self._failures.add(key)
            lines = traceback.format_exception(type(error), error, error.__traceback__)
            self.writer.fact(
                "observer.failure", 0, None, {"where": where, "error": key, "trace": "".join(lines)[-2000:]}
            )

    @property
    def failures(self) -> tuple[str, ...]:
        return tuple(sorted(self._failures))
