"""With and without: levels of losses, effects over pairs of runs, and their interval. Pure functions of replays."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from neuraldbg.verify._replay import Replay

#: Two-sided 95 % quantiles of Student's t, by degrees of freedom.
_T95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
#: Symptoms that consist in a loss that leaves its range.
_RUNS_AWAY = ("loss_non_finite", "loss_diverged")
#: Read by the mean over all rounds after the onset: the failure of a run that gets there in the end is the way there.
COURSE = "course"
#: Share of its first loss below which a run has got there.
_GOT_THERE = 0.5
#: Values that a held-out loss must have for a level.
_FEWEST_HELD_OUT = 3


@dataclass(frozen=True)
class Level:
    """Where a run's loss begins and ends."""

    first: float
    #: Mean of the last tenth; for a spike, mean of the worst quarter after the onset; for the course, of all after it.
    end: float
    #: Whether it became non-finite.
    non_finite: bool
    #: Lowest value seen.
    lowest: float
    #: Mean of the worst twentieth after the onset.
    worst: float = -math.inf

    @property
    def ran_away(self) -> bool:
        return self.non_finite or self.end > self.first + 0.5 * abs(self.first)

    @property
    def went_away(self) -> bool:
        """Whether it was away for a while, at least."""
        return self.ran_away or self.worst > self.first + 0.5 * abs(self.first)


@dataclass(frozen=True)
class Reading:
    """Which numbers of a run are compared, and how."""

    #: A place of ``Replay.streams`` or of ``Replay.held_out``.
    stream: str
    #: Kind of symptom by which the level is read, or ``COURSE``.
    symptom: str
    #: What is said of it after the effect, or "" for the first reading.
    told: str = ""
    #: Whether it is another training loss: one that may not be bought with the first.
    second: bool = False


def main_stream(replays: Sequence[Replay]) -> str | None:
    """The loss that is compared: the one with the most values, of equals the one that was seen first."""
    usable = [replay for replay in replays if replay.streams]
    if not usable:
        return None
    streams = usable[0].streams
    return max(streams, key=lambda name: len(streams[name][1]))


def level(replay: Replay, stream: str, symptom: str, onset: int, orientation: int = 1) -> Level | None:
    """The levels of a run's loss; None where it has none."""
    steps, values = replay.streams.get(stream) or replay.held_out.get(stream) or ([], [])
    if not values:
        return None
    oriented = [value if math.isinf(value) else orientation * value for value in values]
    finite = [value for value in oriented if math.isfinite(value)]
    if not finite:
        return Level(math.inf, math.inf, True, math.inf)
    first = statistics.fmean(finite[:3]) if len(finite) >= 3 else finite[0]
    window = max(3, len(oriented) // 10)
    tail = oriented[-window:]
    # The worst values are left out: the loss on an offending batch is large also for a model that it did no harm.
    after = sorted((value for step, value in zip(steps, oriented) if step >= onset), reverse=True) or tail
    after = after[max(1, len(after) // 50) :] or after
    largest = first + 10 * abs(first)
    if symptom == "loss_spike":
        # Spikes are in the worst quarter of what follows, and are not to outweigh all else by their height.
        end = statistics.fmean(min(value, largest) for value in after[: max(1, len(after) // 4)])
    elif symptom == COURSE:
        end = statistics.fmean(min(value, largest) for value in after)
    else:
        # A mean, not a median: a loss that is low between two spikes has not been cured.
        end = statistics.fmean(min(value, largest) for value in tail)
    # Also one bad value in the middle counts: the program went on by luck.
    bad = any(math.isinf(value) for value in oriented)
    return Level(first, end, bad, min(finite), statistics.fmean(after[: max(1, len(after) // 20)]))


def reading(replays: Sequence[Replay], stream: str, symptom: str, onset: int) -> str:
    """The symptom by which runs are read: that of the diagnosis, but a spike where a loss ran away and came back.

    Args:
        replays: runs without a change.
        stream: the loss that is compared.
        symptom, onset: kind and step of what was diagnosed.
    """
    if symptom not in _RUNS_AWAY:
        return symptom
    levels = [one for one in (level(replay, stream, symptom, onset) for replay in replays if replay.usable) if one]
    stay_away = sum(one.ran_away or one.end > 0.9 * one.first for one in levels)
    were_away = sum(one.went_away for one in levels)
    return "loss_spike" if stay_away * 2 < len(levels) <= were_away * 2 else symptom


def readings(replays: Sequence[Replay], symptom: str, onset: int, held_out: bool) -> list[Reading]:
    """All ways in which runs are compared, the first one before all others.

    A program may have a second loss that shows a failure which the first hides (of two networks that play against each
    other one's loss rises while the other's falls); a run that got there in the end may have failed on the way; and a
    cause whose cost a training loss does not show may show it in a loss that the program computes without gradients.

    Args:
        replays: runs without a change.
        symptom, onset: kind and step of what was diagnosed.
        held_out: whether losses without gradients count.
    """
    stream = main_stream(replays)
    if stream is None:
        return []
    main = reading(replays, stream, symptom, onset)
    found = [Reading(stream, main)]
    usable = [replay for replay in replays if replay.usable]
    streams = usable[0].streams if usable else {}
    for other, (_, values) in streams.items():
        if other != stream and 2 * len(values) >= len(streams[stream][1]):
            found.append(Reading(other, reading(replays, other, symptom, onset), f" at {other}", second=True))
    if main not in (*_RUNS_AWAY, "loss_spike"):
        levels = [one for one in (level(replay, stream, main, onset) for replay in usable) if one]
        got_there = sum(_got_there(one) for one in levels)
        if got_there * 2 > len(levels):
            found.append(Reading(stream, COURSE, " over the run, which gets there in the end without it, too"))
    if held_out and usable:
        found += [
            Reading(place, "", " on data that it was not trained on")
            for place, (_, values) in usable[0].held_out.items()
            if len(values) >= _FEWEST_HELD_OUT
        ]
    return found


def _got_there(one: Level) -> bool:
    floor = min(0.0, one.lowest)
    return not one.ran_away and one.end - floor < _GOT_THERE * (one.first - floor)


def failed(one: Level, reference: Level, symptom: str) -> bool:
    """Whether a run without a change shows the failure.

    ``reference`` is the run with the program's own seeds: the one that was diagnosed, over again.
    """
    if symptom in _RUNS_AWAY:
        return one.ran_away or one.end > 0.9 * one.first
    floor = min(0.0, one.lowest, reference.lowest)
    return one.ran_away or one.end - floor >= 0.5 * (reference.end - floor)


def effect(without: Level, treated: Level, changes_loss: bool) -> float:
    """Share of the remaining loss that the intervention removes; 1 all of it, 0 none, below 0 it makes it worse."""
    if not math.isfinite(without.first):
        without = Level(treated.first, treated.first, True, treated.first)
    if not math.isfinite(treated.first):
        return -1.0 if not without.non_finite else 0.0
    # Losses below zero are measured from the lowest one that either run saw.
    floor = min(0.0, without.lowest, treated.lowest)
    start, own_start = without.first - floor, treated.first - floor
    left = start if without.non_finite else min(without.end - floor, start)
    left_treated = own_start if treated.non_finite else min(treated.end - floor, 10 * max(own_start, 1e-30))
    if treated.non_finite:
        return 0.0 if without.non_finite else -1.0
    if changes_loss:
        left, left_treated = left / max(start, 1e-30), left_treated / max(own_start, 1e-30)
    if left <= 0:
        return 0.0
    return max(-1.0, min(1.0, 1 - left_treated / left))


def interval(effects: Sequence[float]) -> tuple[float, float]:
    """Mean effect's 95 % interval (Student); without bounds for a single one."""
    if len(effects) < 2:
        return (-math.inf, math.inf)
    half = _T95[min(len(effects) - 2, len(_T95) - 1)] * statistics.stdev(effects) / math.sqrt(len(effects))
    mean = statistics.fmean(effects)
    return (mean - half, mean + half)


def posteriors(priors: Sequence[float], factors: Sequence[float]) -> list[float]:
    """Bayes' rule over hypotheses that exclude each other, and the rest, which no experiment speaks about.

    Args:
        priors: probability of each hypothesis, 0..1; scaled down where they sum to more than 0.98.
        factors: likelihood of what was seen under each, over its likelihood under the others.
    """
    total = sum(priors)
    scale = min(1.0, 0.98 / total) if total > 0 else 1.0
    weights = [prior * scale * factor for prior, factor in zip(priors, factors)]
    rest = 1 - total * scale
    return [weight / max(sum(weights) + rest, 1e-12) for weight in weights]
