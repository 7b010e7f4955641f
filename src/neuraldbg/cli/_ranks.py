"""The traces of one run in many processes, read together; needs no torch."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuraldbg.errors import TraceError, UsageError

if TYPE_CHECKING:
    from neuraldbg.records import Diagnosis, Trace

#: Seconds within which the processes of one run open their traces.
_TOGETHER = 120.0


def traces_of_last_run(folder: Path) -> list[Path]:
    """The traces of the newest run in a folder, by rank; a run in one process is one trace.

    Raises:
        UsageError: the folder holds no trace that can be read.
    """
    from neuraldbg.trace_store.location import list_traces
    from neuraldbg.trace_store.reader import summary

    found: dict[int, Path] = {}
    run: Any = None
    began = 0.0
    for path in list_traces(folder):
        try:
            meta = summary(path)
        except TraceError:
            continue
        ranks = meta.get("ranks")
        if not ranks:
            if run is None:
                return [path]
            continue
        started = _seconds(meta.get("started"))
        if run is None:
            run, began = ranks.get("run"), started
        if ranks.get("run") == run and abs(started - began) < _TOGETHER:
            found.setdefault(int(ranks["rank"]), path)
    if not found:
        raise UsageError(f"expected traces in {str(folder)!r}, found none; make one: neuraldbg run train.py")
    return [found[rank] for rank in sorted(found)]


def judge_together(paths: list[Path]) -> tuple[Path, Diagnosis, Trace]:
    """Diagnoses every rank; gives the trace and the diagnosis of the one at which the failure began first.

    Its notes say what each rank saw. Replicas hold equal gradients after their all-reduce, so that their norms are one
    rank's; norms of sharded parameters in the trace are those of the whole ones, see ``measures.ranks``. Each diagnosis
    is made from what its rank measured.
    """
    from neuraldbg.cli._verdict import judge
    from neuraldbg.measures.ranks import is_sharded, merged

    judged = []
    for path in paths:
        diagnosis, trace = judge(path)
        judged.append((path, diagnosis, trace))
    first = min(judged, key=lambda entry: _order(entry[1], entry[2]))
    if len(judged) == 1:
        return first
    notes = [_line(trace.meta["ranks"]["rank"], diagnosis, first) for _, diagnosis, trace in judged]
    own, world = first[2].meta["ranks"]["rank"], first[2].meta["ranks"].get("world", len(judged))
    where = f"of {world} ranks, this is rank {own}" + (
        ", at which the failure began" if first[1].outcome == "failed" else ""
    )
    missing = sorted(set(range(int(world))) - {int(trace.meta["ranks"]["rank"]) for _, _, trace in judged})
    if missing:
        notes.append(f"no trace of rank {', '.join(map(str, missing))}")
    traces = [trace for _, _, trace in judged]
    whole = merged(traces, [path for path, _, _ in judged].index(first[0]))
    if is_sharded(first[2]):
        notes.append(_norm_line(whole))
    return first[0], replace(first[1], notes=(where, *notes, *first[1].notes)), whole


def _order(diagnosis: Diagnosis, trace: Trace) -> tuple[int, float, bool, float, bool, float]:
    """Failed before uncertain before healthy; then the earliest symptom, the data that is not finite, the earliest
    cause, the rank that differs from the others, the surest.

    What came in with the data of one rank reaches the others through a collective of the same step.
    """
    outcome = {"failed": 0, "uncertain": 1}.get(diagnosis.outcome, 2)
    best = diagnosis.hypotheses[0] if diagnosis.hypotheses else None
    symptom = float(diagnosis.symptom.step) if diagnosis.symptom else float("inf")
    begins = float(best.step_range[0]) if best else float("inf")
    finite = not _came_in(diagnosis, trace)
    return outcome, symptom, finite, begins, _is_alike(trace), -(best.confidence if best else 0.0)


def _came_in(diagnosis: Diagnosis, trace: Trace) -> bool:
    """Whether data of this rank was not finite by the time of its symptom."""
    steps = [fact.step for fact in trace.facts("nonfinite.input") if not fact.data.get("evaluation")]
    return bool(steps) and diagnosis.symptom is not None and min(steps) <= diagnosis.symptom.step


def _is_alike(trace: Trace) -> bool:
    """False for a rank that was found to differ from the others; all of them have noted which one that is."""
    return not any(trace.meta["ranks"]["rank"] in fact.data.get("ranks", ()) for fact in trace.facts("ranks.diverged"))


def _line(rank: int, diagnosis: Diagnosis, first: tuple[Path, Diagnosis, Trace]) -> str:
    """What one rank saw; no cause of its own where what was not finite came in at another one."""
    origin = first[2].meta["ranks"]["rank"]
    if rank != origin and diagnosis.outcome == "failed" and _came_in(first[1], first[2]):
        return f"rank {rank}, {diagnosis.steps} steps: {diagnosis.summary} It came from rank {origin}."
    cause = f"{diagnosis.hypotheses[0].cause}: " if diagnosis.hypotheses else ""
    return f"rank {rank}, {diagnosis.steps} steps: {cause}{diagnosis.summary}"


def _norm_line(whole: Trace) -> str:
    steps, norms = whole.scalar("gradient.norm")
    if not len(steps):
        return (
            "parameters are sharded, and their parts were not all observed at the same steps: norms are those of parts"
        )
    return f"gradient norm over all parts: {norms[0]:.3g} at step {steps[0]}, {norms[-1]:.3g} at step {steps[-1]}"


def _seconds(moment: Any) -> float:
    try:
        return datetime.fromisoformat(str(moment)).timestamp()
    except ValueError:
        return 0.0
