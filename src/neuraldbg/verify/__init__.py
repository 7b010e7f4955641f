"""Proof: take away the one thing that a hypothesis blames, train again, and see whether the failure goes away.

``neuraldbg.verify(train, hypotheses)`` calls this module itself; see ``verify`` below.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from neuraldbg.errors import UsageError
from neuraldbg.records import CausalHypothesis, Diagnosis
from neuraldbg.records.verdict import Verification


def verify(
    train: Callable[[], Any],
    hypotheses: Diagnosis | Sequence[CausalHypothesis] | CausalHypothesis,
    *,
    top: int = 3,
    seeds: int = 3,
    steps: int | None = None,
    only: str | None = None,
    limit: float = 300.0,
    jobs: int | None = None,
    engine: Literal["local", "ray"] = "local",
    snapshots: Sequence[Path] = (),
    progress: Callable[[int, int, str], None] | None = None,
) -> Verification:
    """Put hypotheses to the test: train again without what each blames, beside runs without a change.

    Args:
        train: builds the model and trains it, without arguments; called once per run, each time in a process of its own
            (a fork; in this process where there is none or a GPU is in use). Its files go to a copy of the working
            folder.
        hypotheses: a ``Diagnosis``, one hypothesis, or several, best first.
        top: how many of them are tried.
        seeds: pairs of runs per hypothesis; one pair has no interval and confirms nothing.
        steps: rounds per run; by default a little past the onset.
        only: name of one intervention to try alone.
        limit: seconds per run.
        jobs: runs side by side; by default half of the processors, or as many as the cluster takes.
        engine: ``local`` for processes of this machine, ``ray`` for a Ray cluster (``pip install 'neuraldbg[ray]'``).
        snapshots: files that ``NeuralDbg(snapshots=True)`` kept (``dbg.snapshots``); runs begin at one near the onset
            where it comes before all that is blamed.
        progress: called after each run with the runs done, the runs expected, and what was run.

    Raises:
        UsageError: an argument that cannot be used, or an engine that is not there.
    """
    from neuraldbg.verify import _engine
    from neuraldbg.verify._experiment import experiment

    if not callable(train):
        raise UsageError(f"verify expects a function that builds and trains, found {type(train).__name__}; pass one")
    symptom, onset, seen = "", 0, 0
    if isinstance(hypotheses, Diagnosis):
        seen = hypotheses.steps
        if hypotheses.symptom is not None:
            symptom, onset = hypotheses.symptom.kind, hypotheses.symptom.step
        hypotheses = hypotheses.hypotheses
    elif isinstance(hypotheses, CausalHypothesis):
        hypotheses = [hypotheses]
    if not hypotheses and only is None:
        return Verification((), (0, 0), 0, seeds, notes=("there is no hypothesis to verify: nothing failed",))
    if _engine.engine(engine) == "ray":
        from neuraldbg.verify import _ray

        start, jobs = _ray.functions_on_ray(train), jobs or _ray.places()
    else:
        start = _engine.in_forks(train)
    return experiment(
        start,
        hypotheses,
        symptom=symptom,
        onset=onset or max((h.step_range[0] for h in hypotheses[:top]), default=0),
        seen=seen,
        top=top,
        seeds=seeds,
        steps=steps,
        only=only,
        limit=limit,
        jobs=jobs,
        snapshots=snapshots,
        progress=progress,
    )


class _Callable(ModuleType):
    """Lets ``neuraldbg.verify`` be both the function that users call and the folder that holds it."""

    __call__ = staticmethod(verify)


sys.modules[__name__].__class__ = _Callable
