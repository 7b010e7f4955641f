"""Weights & Biases: the verdict, the events and the report of a run, online or in offline mode."""

from __future__ import annotations

from typing import Any

import wandb

from neuraldbg.integrations._tracking import (
    COLUMNS,
    EVENTS,
    MARKER,
    REPORT,
    VERDICT,
    AnyPath,
    as_text,
    event_rows,
    last_step,
    markers,
    report_page,
)
from neuraldbg.records import Diagnosis

_STEP = "neuraldbg/step"


def write_diagnosis(diagnosis: Diagnosis, run: Any, trace: AnyPath | None = None) -> None:
    """Write the verdict, a table of events, a marker per event and the report.

    In the summary: ``neuraldbg/outcome``, ``neuraldbg/verdict`` (text) and, where something failed, ``neuraldbg/cause``
    and ``neuraldbg/confidence``. In the history: ``neuraldbg/events_so_far``, which rises where an event begins and has
    our step as its axis, for a run takes no values at steps that have passed; ``neuraldbg/events``, a table;
    ``neuraldbg/report``, the HTML page, which is shown in the workspace.

    Args:
        diagnosis: ``debugger.diagnosis()``.
        run: what ``wandb.init()`` gave, not yet finished.
        trace: ``debugger.path``, for the curves of the report.
    """
    run.define_metric(_STEP, hidden=True)
    run.define_metric(MARKER, step_metric=_STEP)
    for step, count in markers(diagnosis):
        run.log({_STEP: step, MARKER: count})
    run.log(
        {
            EVENTS: wandb.Table(columns=list(COLUMNS), data=event_rows(diagnosis)),
            REPORT: wandb.Html(report_page(diagnosis, trace), inject=False),
            _STEP: last_step(diagnosis),
        }
    )
    told: dict[str, Any] = {"neuraldbg/outcome": diagnosis.outcome, VERDICT: as_text(diagnosis)}
    if diagnosis.hypotheses:
        best = diagnosis.hypotheses[0]
        told["neuraldbg/cause"], told["neuraldbg/confidence"] = best.cause, float(best.confidence)
    run.summary.update(told)
