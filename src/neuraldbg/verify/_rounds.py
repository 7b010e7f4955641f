"""Counts the rounds of a training loop."""

from __future__ import annotations


class Rounds:
    """Counts the rounds of a loop.

    A round ends where an optimizer that has stepped in it steps again, or where a loss whose backward was seen in it
    comes back after a step. Backwards without a step between them are accumulation; where nothing ever steps, each
    backward is a round.
    """

    def __init__(self) -> None:
        self._in_round: set[int] = set()
        self._seen: set[str] = set()
        self._closed = 0
        self._stepped_ever = False
        self._backwards: dict[str, int] = {}

    @property
    def index(self) -> int:
        """The round that is going on, counted from 0."""
        return self._closed if self._stepped_ever else max(self._backwards.values(), default=1) - 1

    def backward(self, place: str) -> int:
        """Count a backward; returns its round."""
        if self._in_round and place in self._seen:
            self._close()
        self._seen.add(place)
        self._backwards[place] = self._backwards.get(place, 0) + 1
        return self.index

    def stepped(self, optimizer: int) -> int:
        """Count a step; returns the number of rounds begun."""
        self._stepped_ever = True
        if optimizer in self._in_round:
            self._close()
        self._in_round.add(optimizer)
        return self._closed + 1

    def _close(self) -> None:
        self._closed += 1
        self._in_round.clear()
        self._seen.clear()
