"""From the runs of an experiment to verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from neuraldbg.records.verdict import Verdict
from neuraldbg.verify import _compare as compare
from neuraldbg.verify._effects import Arm, decisive, seen_by
from neuraldbg.verify._instead import INSTEAD, NOT_REACHED
from neuraldbg.verify._replay import Replay
from neuraldbg.verify.interventions import get

#: How often removing the true cause makes its failure go away; the rest is other faults beside it, and short runs.
_CURES_ITS_OWN = 0.9


def placebo_failures(placebo: Mapping[int, Replay], symptom: str, onset: int) -> tuple[int, int]:
    """(failed, judged) of the runs without a change."""
    stream = compare.main_stream([placebo[seed] for seed in sorted(placebo)])
    if stream is not None:
        symptom = compare.reading(list(placebo.values()), stream, symptom, onset)
    levels = []
    for _, replay in sorted(placebo.items()):
        one = compare.level(replay, stream, symptom, onset) if replay.usable and stream else None
        if one is not None:
            levels.append(one)
    return sum(compare.failed(one, levels[0], symptom) for one in levels), len(levels)


def judge(arms: Sequence[Arm], placebo: Mapping[int, Replay], symptom: str, onset: int) -> list[Verdict]:
    """One verdict per arm, in their order."""
    shown = placebo_failures(placebo, symptom, onset)
    comes_back = shown[0] * 2 >= shown[1] > 0
    drafts = [_draft(arm, placebo, symptom, onset, comes_back, shown) for arm in arms]
    strongest = max((d["effect"] for d in drafts if d["state"] == "gone"), default=1.0)
    factors = [_factor(draft, strongest) for draft in drafts]
    after = compare.posteriors([arm.hypothesis.confidence for arm in arms], factors)
    verdicts = []
    for arm, draft, posterior in zip(arms, drafts, after):
        verdict, reason = draft["verdict"], draft["reason"]
        if verdict == "confirmed" and posterior < 0.5:
            verdict = "inconclusive"
            reason = "the failure goes away, but so it does under this change when other causes are at work"
            rivals = [
                (other_posterior, other.hypothesis.cause)
                for other, other_posterior in zip(arms, after)
                if other is not arm and other_posterior > posterior
            ]
            if rivals:
                reason = f"the failure goes away, but {max(rivals)[1]} explains it better"
        verdicts.append(
            Verdict(
                cause=arm.hypothesis.cause,
                where=arm.hypothesis.where,
                intervention=arm.intervention,
                verdict=verdict,
                reason=reason,
                prior=arm.hypothesis.confidence,
                posterior=round(posterior, 4),
                failed_without=shown,
                failed_with=draft["failed_with"],
                effect=draft["effect"],
                interval=draft["interval"],
                strength=arm.strength if arm.intervention and len(get(arm.intervention).STRENGTHS) > 1 else None,
                changes=_changes(arm),
                trouble=tuple(
                    f"seed {seed}: {run.outcome}{f' ({run.error})' if run.error else ''}"
                    for seed, run in sorted(arm.runs.items())
                    if run.outcome not in ("finished", "stopped")
                ),
                instead=draft["instead"],
            )
        )
    return verdicts


def _draft(
    arm: Arm, placebo: Mapping[int, Replay], symptom: str, onset: int, comes_back: bool, shown: tuple[int, int]
) -> dict[str, Any]:
    unknown = (math.nan, math.nan)
    draft: dict[str, Any] = {
        "state": "unknown",
        "verdict": "inconclusive",
        "effect": math.nan,
        "interval": unknown,
        "failed_with": (0, 0),
        "instead": INSTEAD.get(arm.hypothesis.cause, ""),
        "also": 1.0,
    }
    if arm.intervention is None:
        return {**draft, "reason": "nothing that acts from outside can remove this cause"}
    draft["instead"] = ""
    draft["also"] = get(arm.intervention).ALSO_CURES
    if not arm.runs:
        return {**draft, "reason": "it was not run"}
    if not any(replay.usable for replay in arm.runs.values()):
        worst = next(iter(arm.runs.values()))
        return {**draft, "reason": f"the run {worst.outcome}" + (f": {worst.error}" if worst.error else "")}
    if not shown[1]:
        return {**draft, "reason": "no run without a change could be judged"}
    if not arm.acted:
        if arm.intervention in NOT_REACHED:
            return {**draft, "reason": NOT_REACHED[arm.intervention], "instead": INSTEAD.get(arm.hypothesis.cause, "")}
        reason = f"there was nothing to change: to {get(arm.intervention).DO} found no occasion"
        return {**draft, "state": "absent", "verdict": "refuted", "reason": reason}
    if not comes_back:
        return {**draft, "reason": f"the failure does not come back without a change ({shown[0]} of {shown[1]} runs)"}
    seen = seen_by(arm, placebo, symptom, onset)
    if not seen:
        return {**draft, "reason": "no pair of runs could be compared"}
    chosen = decisive(seen)
    mean, still, needed = chosen.mean, chosen.still, chosen.needed
    draft.update(effect=mean, interval=compare.interval(chosen.effects), failed_with=(still, len(chosen.effects)))
    if len(chosen.effects) == 1:
        return {**draft, "reason": "one pair of runs has no interval; raise --seeds"}
    if chosen.gone:
        reason = f"without it the failure is gone: {mean:.0%} of the remaining loss"
        return {**draft, "state": "gone", "verdict": "confirmed", "reason": reason + chosen.reading.told}
    if mean < needed and not getattr(get(arm.intervention), "SHOWN_IN_LOSS", True):
        reason = (
            f"it was so ({next(iter(_changes(arm)), 'it was changed')}), but the training loss doesn't show its cost"
        )
        return {**draft, "reason": reason}
    if mean < needed / 2 and still == len(chosen.effects):
        return {**draft, "state": "stays", "verdict": "refuted", "reason": "without it the failure stays"}
    return {**draft, "reason": "the runs do not agree enough to decide"}


def _changes(arm: Arm) -> tuple[str, ...]:
    """What the intervention changed in any of the runs."""
    return tuple(dict.fromkeys(line for run in arm.runs.values() for line in run.changes))


def _factor(draft: Mapping[str, Any], strongest: float) -> float:
    """Likelihood of what was seen if the hypothesis holds, over that if another one does."""
    also = float(draft["also"])
    if draft["state"] == "gone":
        # Taking the true cause away works about as well as anything does.
        share = max(0.0, draft["effect"] / strongest) if strongest > 0 else 1.0
        return _CURES_ITS_OWN / also * share**2
    if draft["state"] == "absent":
        return 0.03
    if draft["state"] == "stays":
        return (1 - _CURES_ITS_OWN) / (1 - also)
    return 1.0
