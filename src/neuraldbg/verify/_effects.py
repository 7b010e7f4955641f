"""What an intervention did: effects of an arm by each way of reading its runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from neuraldbg.records.hypothesis import CausalHypothesis
from neuraldbg.verify import _compare as compare
from neuraldbg.verify._replay import Replay
from neuraldbg.verify.interventions import get

#: Share of the remaining loss that must go for the failure to count as gone: less for a change that touches one thing.
_GONE_SPECIFIC, _GONE_BROAD = 0.2, 0.4
#: An intervention that cures others' failures less often than this touches one thing.
_SPECIFIC = 0.13
#: Pairs from which a complete separation counts.
_APART = 3


@dataclass
class Arm:
    """One hypothesis and its runs."""

    hypothesis: CausalHypothesis
    intervention: str | None
    strength: float | None = None
    #: Seed → run.
    runs: dict[int, Replay] = field(default_factory=dict)

    @property
    def acted(self) -> bool:
        return any(replay.acted for replay in self.runs.values())


def required(intervention: str) -> float:
    """The effect from which the failure counts as gone."""
    return _GONE_SPECIFIC if get(intervention).ALSO_CURES <= _SPECIFIC else _GONE_BROAD


def readings(arm: Arm, placebo: Mapping[int, Replay], symptom: str, onset: int) -> list[compare.Reading]:
    """Ways in which an arm is compared with the runs without a change, the first one before all others."""
    if arm.intervention is None:
        return []
    held_out = not getattr(get(arm.intervention), "SHOWN_IN_LOSS", True)
    return compare.readings([placebo[seed] for seed in sorted(placebo)], symptom, onset, held_out)


def pair_effects(arm: Arm, placebo: Mapping[int, Replay], reading: compare.Reading, onset: int) -> list[float]:
    """Effect of each seed that has both runs, by one reading."""
    rule = get(arm.intervention) if arm.intervention is not None else None
    return [
        compare.effect(without, treated, rule.CHANGES_LOSS)
        for without, treated in _pairs(arm, placebo, reading, onset)
        if rule is not None
    ]


def best_effect(arm: Arm, placebo: Mapping[int, Replay], symptom: str, onset: int, seed: int = 0) -> float:
    """The largest effect on one seed over all readings; minus infinity where nothing can be compared."""
    alone = Arm(arm.hypothesis, arm.intervention, arm.strength, {s: run for s, run in arm.runs.items() if s == seed})
    effects = [
        effect
        for reading in readings(arm, placebo, symptom, onset)
        for effect in pair_effects(alone, placebo, reading, onset)
    ]
    return max(effects, default=-math.inf)


def _pairs(
    arm: Arm, placebo: Mapping[int, Replay], reading: compare.Reading, onset: int
) -> list[tuple[compare.Level, compare.Level]]:
    """Levels without and with the intervention of each seed that has both runs."""
    if arm.intervention is None:
        return []
    orientation = getattr(get(arm.intervention), "ORIENTATION", 1)
    found = []
    for seed, replay in sorted(arm.runs.items()):
        if seed not in placebo or not replay.usable or not placebo[seed].usable:
            continue
        without = compare.level(placebo[seed], reading.stream, reading.symptom, onset, orientation)
        treated = compare.level(replay, reading.stream, reading.symptom, onset, orientation)
        if without is not None and treated is not None:
            found.append((without, treated))
    return found


@dataclass(frozen=True)
class Seen:
    """Effects of an arm by one reading, at least one."""

    reading: compare.Reading
    effects: tuple[float, ...]
    #: The effect from which the failure counts as gone.
    needed: float
    #: Whether it is gone, by more than chance.
    gone: bool

    @property
    def mean(self) -> float:
        return statistics.fmean(self.effects)

    @property
    def still(self) -> int:
        """Pairs in which the failure is still there."""
        return sum(one < self.needed for one in self.effects)


def seen_by(arm: Arm, placebo: Mapping[int, Replay], symptom: str, onset: int) -> list[Seen]:
    """What an arm did by each reading that has a pair of runs, the first reading first."""
    needed = required(str(arm.intervention))
    found = []
    for reading in readings(arm, placebo, symptom, onset):
        effects = pair_effects(arm, placebo, reading, onset)
        if effects:
            found.append(Seen(reading, tuple(effects), needed, _is_gone(arm, placebo, reading, onset, effects, needed)))
    return found


def decisive(seen: list[Seen]) -> Seen:
    """The reading that decides: the first, unless another shows what it hides."""
    first = seen[0]
    for one in seen:
        # Of two training losses one may not be bought with the other.
        if one.gone and not (one.reading.second and first.mean < -one.needed):
            return one
    return first


def _is_gone(
    arm: Arm,
    placebo: Mapping[int, Replay],
    reading: compare.Reading,
    onset: int,
    effects: list[float],
    needed: float,
) -> bool:
    if len(effects) < 2 or statistics.fmean(effects) < needed:
        return False
    still = sum(one < needed for one in effects)
    # Beyond doubt by the interval; or gone in each pair, and by more than any two runs without a change differ, or with
    # every treated run below every other: of three and three runs one order in twenty is like that by chance.
    if compare.interval(effects)[0] > 0 and still * 2 < len(effects):
        return True
    return not still and (
        min(effects) > _noise(arm, placebo, reading, onset)
        or (len(effects) >= _APART and _all_below(arm, placebo, reading, onset))
    )


def _all_below(arm: Arm, placebo: Mapping[int, Replay], reading: compare.Reading, onset: int) -> bool:
    """Whether the worst run with the intervention ends below the best one without."""
    pairs = _pairs(arm, placebo, reading, onset)
    relative = bool(arm.intervention) and get(str(arm.intervention)).CHANGES_LOSS

    def end(one: compare.Level) -> float:
        if one.non_finite:
            return math.inf
        return one.end / max(abs(one.first), 1e-30) if relative else one.end

    return bool(pairs) and max(end(treated) for _, treated in pairs) < min(end(without) for without, _ in pairs)


def _noise(arm: Arm, placebo: Mapping[int, Replay], reading: compare.Reading, onset: int) -> float:
    """The largest effect that a change of the seed alone has."""
    largest = 0.0
    for seed in placebo:
        for other in placebo:
            if other != seed:
                pair = Arm(arm.hypothesis, arm.intervention, arm.strength, {seed: placebo[other]})
                largest = max([largest, *pair_effects(pair, {seed: placebo[seed]}, reading, onset)])
    return largest
