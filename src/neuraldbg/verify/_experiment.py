"""The experiment: which runs, in which order, and what becomes of them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from neuraldbg.errors import UsageError
from neuraldbg.records import CausalHypothesis
from neuraldbg.records.verdict import Verification
from neuraldbg.verify import _compare as compare
from neuraldbg.verify._effects import Arm, best_effect, required
from neuraldbg.verify._engine import Start, carry_out_all
from neuraldbg.verify._judge import judge, placebo_failures
from neuraldbg.verify._lever import Target
from neuraldbg.verify._preview import preview
from neuraldbg.verify._replay import Plan, Replay
from neuraldbg.verify._resume import Snapshot, choose
from neuraldbg.verify.interventions import against, get

#: Symptoms that come on at a step; those of a whole run are not seen from its middle.
_SUDDEN = ("loss_non_finite", "loss_diverged", "loss_spike")
#: Rounds in which a snapshot is tried out.
_TRIED = 3
#: Called after each run: runs done, runs expected, what was run.
Progress = Callable[[int, int, str], None]


def default_steps(symptom: str, onset: int, seen: int) -> int:
    """Rounds of a replay: enough past the onset to see the failure, and no more than the run had.

    Args:
        symptom: a kind of ``Symptom``; "" if unknown.
        onset: its step.
        seen: rounds that the run had; 0 if unknown.
    """
    if symptom == "loss_non_finite":
        wanted = max(100, onset + max(20, onset // 4))
    elif symptom in ("loss_spike", "loss_diverged"):
        wanted = max(150, onset + max(50, onset // 2))
    else:
        wanted = max(400, 2 * onset)
    return min(wanted, seen) if seen > 0 else wanted


def experiment(
    start: Start,
    hypotheses: Sequence[CausalHypothesis],
    *,
    symptom: str = "",
    onset: int = 0,
    seen: int = 0,
    top: int = 3,
    seeds: int = 3,
    steps: int | None = None,
    only: str | None = None,
    limit: float = 300.0,
    jobs: int | None = None,
    snapshots: Sequence[Path] = (),
    progress: Progress | None = None,
) -> Verification:
    """Run each hypothesis under its intervention and beside placebos, and judge.

    Args:
        start: starts one run.
        hypotheses: best first; the first ``top`` are tried, or with ``only`` those that it is against.
        symptom, onset, seen: kind and step of what went wrong, and the rounds of the run that showed it.
        seeds: pairs of runs per hypothesis.
        steps: rounds per run; by default a little past the onset.
        only: an intervention to try alone.
        limit: seconds per run.
        jobs: runs side by side; by default half of the processors.
        snapshots: files of a ring that the recording kept; runs begin at the latest one before everything that is
            blamed and the onset, where the failure is one that comes on at a step.

    Raises:
        UsageError: a number below one, or an intervention that does not exist.
    """
    if seeds < 1 or top < 1 or (steps is not None and steps < 1):
        raise UsageError(f"expected top, seeds and steps of at least 1, found {top}, {seeds} and {steps}; raise them")
    chosen = list(hypotheses[:top])
    if only is not None:
        rule = get(only)
        chosen = [h for h in hypotheses if h.cause in rule.CAUSES][:1] or [
            CausalHypothesis(rule.CAUSES[0], "", None, None, (onset, onset), 0.1)
        ]
    arms = [Arm(h, only or against(h.cause)) for h in chosen]
    # What shows on other data is not seen right after an onset.
    whole = any(arm.intervention and not getattr(get(arm.intervention), "SHOWN_IN_LOSS", True) for arm in arms)
    length = steps or max(default_steps(kind, onset, seen) for kind in ((symptom, "") if whole else (symptom,)))
    workers = jobs or max(1, (os.cpu_count() or 2) // 2)
    run = _Runs(
        start, workers, length, limit, progress, seeds * (1 + sum(arm.intervention is not None for arm in arms))
    )
    placebo: dict[int, Replay] = {}
    interrupted = False
    begins = (onset, *(h.step_range[0] for h in chosen))
    snapshot = choose(snapshots, min(begins)) if snapshots and symptom in _SUDDEN else None
    try:
        if snapshot is not None:
            run.begin_at(snapshot)
        _carry_out(run, arms, placebo, seeds, symptom, onset)
    except KeyboardInterrupt:
        interrupted = True
    verdicts = judge(arms, placebo, symptom, onset)
    places = next((replay.places for replay in placebo.values() if replay.places), {})
    return Verification(
        verdicts=tuple(
            replace(verdict, fix=preview(verdict, arm.hypothesis, places)) for verdict, arm in zip(verdicts, arms)
        ),
        placebo=placebo_failures(placebo, symptom, onset),
        steps=length,
        seeds=seeds,
        runs=run.done,
        interrupted=interrupted,
        notes=(*run.notes, *_notes(placebo)),
    )


class _Runs:
    """Starts batches of runs and counts them."""

    def __init__(
        self, start: Start, jobs: int, steps: int, limit: float, progress: Progress | None, expected: int
    ) -> None:
        self._start, self._jobs, self._steps, self._limit = start, jobs, steps, limit
        self._progress = progress
        self.expected = expected
        self.done = 0
        self.notes: list[str] = []
        self._snapshot = ""
        self._first: Replay | None = None

    def begin_at(self, snapshot: Snapshot) -> None:
        """Let the runs begin at a snapshot, if the program gets there and the step is the same each time."""
        again = Plan(None, steps=snapshot.step + _TRIED, limit=self._limit, snapshot=snapshot.path, deterministic=True)
        plans = [Plan(None, steps=_TRIED, limit=self._limit), again, replace(again)]
        first, *tried = carry_out_all(plans, self._start, self._jobs, lambda plan, replay: None)
        assert first is not None
        failed = next((replay for replay in tried if replay is None or not replay.usable), None)
        if failed is not None or not first.usable:
            why = failed.error if failed is not None and failed.error else "the program ended before it"
            self.notes.append(f"runs begin at step 0, not at the snapshot of step {snapshot.step}: {why}")
            return
        if tried[0].streams != tried[1].streams:
            self.notes.append(
                f"step {snapshot.step}, carried out twice from the same state, gave two results: the hardware, or an "
                "operation that is not deterministic; this is apart from all causes"
            )
        self._snapshot, self._first = snapshot.path, first
        self.notes.append(f"runs begin at step {snapshot.step}, from a snapshot")

    def _whole(self, replay: Replay) -> Replay:
        """A run from a snapshot, with the first losses of the program before its own, as a scale."""
        if self._first is not None:
            for place, (steps, values) in replay.streams.items():
                first_steps, first_values = self._first.streams.get(place, ([], []))
                replay.streams[place] = ([*first_steps, *steps], [*first_values, *values])
        return replay

    def batch(self, wanted: Sequence[tuple[Arm | None, int]], keep: Callable[[Arm | None, int, Replay], Any]) -> None:
        """Runs of (arm or None for a placebo, seed); ``keep`` gets each as soon as it is done."""
        plans = []
        for arm, seed in wanted:
            if arm is None:
                plans.append(Plan(None, seed=seed, steps=self._steps, limit=self._limit, snapshot=self._snapshot))
                continue
            h = arm.hypothesis
            target = Target(h.cause, h.layer, h.parameter, h.step_range[0], self._steps)
            plans.append(Plan(arm.intervention, target, arm.strength, seed, self._steps, self._limit, self._snapshot))
        known = {id(plan): key for plan, key in zip(plans, wanted)}

        def on_done(plan: Plan, replay: Replay) -> None:
            self.done += 1
            keep(*known[id(plan)], self._whole(replay))
            if self._progress is not None:
                self._progress(self.done, max(self.expected, self.done), plan.intervention or "no change")

        carry_out_all(plans, self._start, self._jobs, on_done)


def _carry_out(
    run: _Runs, arms: Sequence[Arm], placebo: dict[int, Replay], seeds: int, symptom: str, onset: int
) -> None:
    def keep(arm: Arm | None, seed: int, replay: Replay) -> None:
        (placebo if arm is None else arm.runs)[seed] = replay

    able = [arm for arm in arms if arm.intervention is not None]
    for arm in able:
        arm.strength = get(str(arm.intervention)).STRENGTHS[0]
    # The placebos come first: what does not fail by itself needs no cure.
    run.batch([(None, seed) for seed in range(seeds)] + [(arm, 0) for arm in able], keep)
    # Where the mildest strength does not do, the next one is tried, on the first seed only.
    open_arms = [arm for arm in able if not _gone(arm, placebo, symptom, onset)]
    for position in range(1, max((len(get(str(arm.intervention)).STRENGTHS) for arm in able), default=1)):
        tried = []
        for arm in open_arms:
            strengths = get(str(arm.intervention)).STRENGTHS
            if arm.acted and position < len(strengths):
                tried.append(arm)
                arm.strength = strengths[position]
        if not tried:
            break
        before = {id(arm): (arm.runs[0], best_effect(arm, placebo, symptom, onset)) for arm in tried}
        run.expected += len(tried)
        run.batch([(arm, 0) for arm in tried], keep)
        for arm in tried:
            earlier, effect = before[id(arm)]
            if math.isfinite(effect) and best_effect(arm, placebo, symptom, onset) <= effect:
                arm.runs[0], arm.strength = earlier, get(str(arm.intervention)).STRENGTHS[position - 1]
        open_arms = [arm for arm in tried if not _gone(arm, placebo, symptom, onset)]
    worth = [arm for arm in able if arm.acted and arm.runs[0].usable]
    run.expected -= (len(able) - len(worth)) * (seeds - 1)
    # Seeds of all arms in turn: after Ctrl-C each has about as many.
    run.batch([(arm, seed) for seed in range(1, seeds) for arm in worth], keep)


def _gone(arm: Arm, placebo: dict[int, Replay], symptom: str, onset: int) -> bool:
    return best_effect(arm, placebo, symptom, onset) >= required(str(arm.intervention))


def _notes(placebo: dict[int, Replay]) -> tuple[str, ...]:
    lines = [
        f"a run without a change {replay.outcome}" + (f": {replay.error}" if replay.error else "")
        for _, replay in sorted(placebo.items())
        if replay.outcome not in ("finished", "stopped")
    ]
    if placebo and compare.main_stream(list(placebo.values())) is None:
        lines.append("no backward was seen in the runs without a change, so that nothing can be compared")
    return tuple(dict.fromkeys(lines))
