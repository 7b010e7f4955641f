"""Trackio: the verdict, the events and the report of a run, with an alert where something failed."""

from __future__ import annotations

from typing import Any

import trackio

from neuraldbg.integrations._tracking import (
    COLUMNS,
    EVENTS,
    MARKER,
    REPORT,
    VERDICT,
    AnyPath,
    as_markdown,
    event_rows,
    last_step,
    markers,
    report_page,
)
from neuraldbg.records import Diagnosis


def write_diagnosis(diagnosis: Diagnosis, run: Any, trace: AnyPath | None = None) -> None:
    """Write the verdict, a table of events, a marker per event, the report, and an alert where something failed.

    At the last step: ``neuraldbg/verdict`` (Markdown), ``neuraldbg/events`` (a table), ``neuraldbg/report`` (the HTML
    page, shown in the dashboard). ``neuraldbg/events_so_far`` rises at the step where an event begins. The alert has
    the cause as its title and stands at the step at which the cause begins.

    Args:
        diagnosis: ``debugger.diagnosis()``.
        run: what ``trackio.init()`` gave, not yet finished.
        trace: ``debugger.path``, for the curves of the report.
    """
    last = last_step(diagnosis)
    for step, count in markers(diagnosis):
        run.log({MARKER: count}, step=step)
    run.log(
        {
            VERDICT: trackio.Markdown(as_markdown(diagnosis)),
            EVENTS: trackio.Table(columns=list(COLUMNS), data=event_rows(diagnosis)),
            REPORT: trackio.Html(report_page(diagnosis, trace), inject=False),
        },
        step=last,
    )
    if diagnosis.outcome not in ("failed", "uncertain"):
        return
    best = diagnosis.hypotheses[0] if diagnosis.hypotheses else None
    run.alert(
        title=f"neuraldbg: {best.cause}" if best else "neuraldbg: failed",
        text=f"{diagnosis.summary} {best}" if best else diagnosis.summary,
        level=trackio.AlertLevel.ERROR if diagnosis.outcome == "failed" else trackio.AlertLevel.WARN,
        step=best.step_range[0] if best else last,
    )
