"""TensorBoard: the verdict and the events of a run, as text beside its curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuraldbg.integrations._tracking import (
    EVENTS,
    MARKER,
    REPORT,
    VERDICT,
    AnyPath,
    as_markdown,
    as_text,
    by_onset,
    last_step,
    report_page,
)
from neuraldbg.records import Diagnosis

__all__ = ["as_text", "write_diagnosis"]


def write_diagnosis(diagnosis: Diagnosis, writer: Any, trace: AnyPath | None = None) -> None:
    """Write the verdict, the events and a marker per event, and the report beside them.

    Under *Text*: ``neuraldbg/verdict`` at the last step, ``neuraldbg/events`` with a line per event at its first step,
    ``neuraldbg/report`` with where the report lies. Under *Scalars*: ``neuraldbg/events_so_far``, which rises by one
    where an event begins. TensorBoard shows no pages of others, so that the report is a file in the writer's folder.

    Args:
        diagnosis: ``debugger.diagnosis()``.
        writer: a ``SummaryWriter``, or anything with its add_text and add_scalar; without log_dir there is no report.
        trace: ``debugger.path``, for the curves of the report.
    """
    last = last_step(diagnosis)
    writer.add_text(VERDICT, as_markdown(diagnosis), last)
    for count, event in enumerate(by_onset(diagnosis), start=1):
        writer.add_text(EVENTS, str(event), event.step_range[0])
        writer.add_scalar(MARKER, count, event.step_range[0])
    for rank, hypothesis in enumerate(diagnosis.hypotheses):
        writer.add_scalar(f"neuraldbg/confidence/{hypothesis.cause}", hypothesis.confidence, last)
        writer.add_text("neuraldbg/hypotheses", f"{rank + 1}. {hypothesis}", last)
    folder = getattr(writer, "log_dir", None)
    if folder is not None and "://" not in str(folder):
        page = Path(folder).resolve() / "neuraldbg_report.html"
        page.write_text(report_page(diagnosis, trace), encoding="utf-8")
        writer.add_text(REPORT, f"[{page.name}]({page.as_uri()})", last)
