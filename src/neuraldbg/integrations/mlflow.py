"""MLflow: the verdict, the events and the report of a run, as tags, a metric and artifacts."""

from __future__ import annotations

import time
from typing import Any

from mlflow.entities import Metric, RunTag
from mlflow.tracking import MlflowClient

from neuraldbg.integrations._tracking import (
    COLUMNS,
    EVENTS,
    MARKER,
    REPORT,
    VERDICT,
    AnyPath,
    as_text,
    event_rows,
    markers,
    report_page,
)
from neuraldbg.records import Diagnosis

#: Characters of a tag's value: 8,000 are allowed, 5,000 on older servers.
_TAG = 5000
#: Metrics in one call: 1,000 are allowed, together with tags.
_BATCH = 900


def write_diagnosis(diagnosis: Diagnosis, run: Any, trace: AnyPath | None = None, client: Any = None) -> None:
    """Write the verdict, the events, a marker per event and the report.

    Artifacts: ``neuraldbg/verdict.txt``, ``neuraldbg/events.json`` (a list with one object per event) and
    ``neuraldbg/report.html``, which MLflow shows in its own page. Metric: ``neuraldbg/events_so_far``, which rises at
    the step where an event begins. Tags: ``neuraldbg.outcome``, ``neuraldbg.summary``, ``neuraldbg.report`` (the
    address of the report) and, where something failed, ``neuraldbg.cause`` and ``neuraldbg.confidence``.

    Args:
        diagnosis: ``debugger.diagnosis()``.
        run: what ``mlflow.start_run()`` gave, open or ended, or its run id.
        trace: ``debugger.path``, for the curves of the report.
        client: an ``MlflowClient``; None takes the current tracking address.
    """
    client = MlflowClient() if client is None else client
    identifier = run if isinstance(run, str) else run.info.run_id
    address = client.get_run(identifier).info.artifact_uri
    tags = {
        "neuraldbg.outcome": diagnosis.outcome,
        "neuraldbg.summary": diagnosis.summary[:_TAG],
        "neuraldbg.report": f"{address}/{REPORT}.html"[:_TAG],
    }
    if diagnosis.hypotheses:
        best = diagnosis.hypotheses[0]
        tags |= {"neuraldbg.cause": best.cause, "neuraldbg.confidence": f"{best.confidence:.4f}"}
    now = int(time.time() * 1000)
    client.log_batch(
        identifier,
        metrics=[Metric(MARKER, float(count), now, step) for step, count in markers(diagnosis)][-_BATCH:],
        tags=[RunTag(name, value) for name, value in tags.items()],
    )
    client.log_text(identifier, as_text(diagnosis), f"{VERDICT}.txt")
    rows = [dict(zip(COLUMNS, row)) for row in event_rows(diagnosis)]
    client.log_dict(identifier, {"events": rows}, f"{EVENTS}.json")
    client.log_text(identifier, report_page(diagnosis, trace), f"{REPORT}.html")
