"""Hold the learning rate against its schedule.

## What it changes
From the onset on, each parameter group keeps a learning rate that it had before: for a jump the last one before it, and
where that is not enough the one of half the way to it, then the first (a rate that climbs is too high before the loss
shows it); for a collapse the largest one. Where the onset is the first step, the first rate is held. The schedule's own
numbers are not touched.

## Which causes it removes
A jump of the learning rate; a learning rate that collapsed.

## What it can't do
Nothing, where the learning rate never changes: then there was nothing to hold.
"""

from __future__ import annotations

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("learning_rate_jump", "learning_rate_collapsed")
DO = "hold the learning rate"
#: Which of the rates before the onset is held: 1 the last, 0 the first.
STRENGTHS: tuple[float, ...] = (1.0, 0.5, 0.0)
ALSO_CURES = 0.1
CHANGES_LOSS = False
#: Rates are equal when they differ by less than this share; a schedule in float arithmetic is never exact.
_SAME = 1e-3


def install(lever: Lever) -> None:
    lever.count_steps()
    seen: dict[tuple[int, int], list[float]] = {}

    def change(group, optimizer):
        if "lr" not in group:
            return {}
        now = float(group["lr"])
        index = next(i for i, other in enumerate(optimizer.param_groups) if other is group)
        past = seen.setdefault((id(optimizer), index), [])
        # The onset is known to within an observed step or two; a rate of half the way is held from half the way on.
        if not past or lever.step < lever.target.step * min(1.0, lever.strength or 1e-9) - 1:
            past.append(now)
            return {}
        if lever.target.cause == "learning_rate_collapsed":
            held = max(past)
            wrong = now < held * (1 - _SAME)
        else:
            held = past[-1]
            wrong = now > held * (1 + _SAME)
        if not wrong:
            return {}
        lever.did(f"{type(optimizer).__name__}: learning rate held at {held:.3g}")
        return {"lr": held}

    lever.settings(change)
