"""Counting steps, for loops of any shape.

One *round* is what a researcher calls a step: everything from one update of the weights to the next. A loop with two
optimizers (a GAN) makes both steps in one round; a loop that accumulates makes several backwards in one.

A new round begins with a backward from a place in the code that has run its backward in this round already, once some
optimizer has stepped in between, or with the second step of one optimizer. As long as no optimizer has ever stepped,
each backward counts as a step.
"""

from __future__ import annotations

from collections.abc import Hashable

#: Backwards without a single optimizer step after which steps are counted by backwards.
PATIENCE = 64


class Rounds:
    """The step counter. Its fields are also worked on by ``Unobserved``, which must do as the methods here."""

    def __init__(self) -> None:
        self.round = 0
        self.backwards = 0
        self.optimizer_steps = 0
        self.skipped_steps = 0
        #: Backwards since the round began.
        self.backwards_in_round = 0
        #: Places from which backward was called in this round.
        self.places: set[Hashable] = set()
        #: Place of the latest backward, None where it has been counted to a round before.
        self.latest: Hashable | None = None
        #: Optimizers that have stepped in this round, and in the one before, in order.
        self.stepped: list[int] = []
        self.last_round: list[int] = []

    @property
    def by_backward(self) -> bool:
        """Whether backwards are counted, for want of an optimizer step."""
        return self.optimizer_steps == 0 and self.backwards > PATIENCE

    @property
    def step(self) -> int:
        return max(0, self.backwards - 1) if self.by_backward else self.round

    @property
    def seen_anything(self) -> bool:
        return self.backwards > 0 or self.optimizer_steps > 0

    def begins_round(self, place: Hashable) -> bool:
        """Whether a backward from ``place`` would open a new round."""
        return bool(self.stepped) and place in self.places

    def backward(self, place: Hashable) -> None:
        """A backward begins."""
        if self.stepped and place in self.places:  # as ``begins_round``
            self.round += 1
            self.backwards_in_round = 0
            self.places = set()
            self.last_round, self.stepped = self.stepped, []
        self.places.add(place)
        self.latest = place
        self.backwards += 1
        self.backwards_in_round += 1

    def steps_again(self, optimizer: int) -> bool:
        """Whether an optimizer about to step has stepped in this round already, so that another round is on."""
        return optimizer in self.stepped

    def begins_before(self) -> None:
        """A new round is found to have begun, with the latest backward."""
        self.round += 1
        latest, self.latest = self.latest, None
        self.places = set() if latest is None else {latest}
        self.backwards_in_round = len(self.places)
        self.last_round, self.stepped = self.stepped, []

    def optimizer_stepped(self, optimizer: int, skipped: bool = False) -> None:
        """An optimizer has made its step, or a loss scaler has skipped it."""
        if self.by_backward:
            # Steps were counted by backwards for so long that the count goes on from there.
            self.round = self.backwards - 1
        if optimizer in self.stepped and not self.places:
            self.round += 1
            self.last_round, self.stepped = self.stepped, []
        self.optimizer_steps += 1
        self.skipped_steps += skipped
        self.stepped.append(optimizer)

    def ends_round(self, optimizer: int) -> bool:
        """Whether this step is, by what the round before was like, the last one of its round."""
        return not self.last_round or optimizer == self.last_round[-1]

    @property
    def forward_step(self) -> int:
        """The step that a forward belongs to: the next one, once the last optimizer of the round has stepped."""
        ended = bool(self.stepped) and self.ends_round(self.stepped[-1])
        return self.step + 1 if ended and not self.by_backward else self.step

    @property
    def fresh(self) -> bool:
        """Whether no backward has come since the last optimizer step."""
        return bool(self.stepped)
