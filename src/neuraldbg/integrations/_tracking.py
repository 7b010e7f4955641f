"""What every tracker is told about a run: verdict as text, a row per event, markers, the report as one HTML file."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator

from neuraldbg.errors import TraceError
from neuraldbg.records import Diagnosis, SemanticEvent

AnyPath = str | os.PathLike[str]

#: Names under which a tracker shows what we write.
VERDICT = "neuraldbg/verdict"
EVENTS = "neuraldbg/events"
MARKER = "neuraldbg/events_so_far"
REPORT = "neuraldbg/report"

#: Columns of ``event_rows``.
COLUMNS = ("first step", "last step", "type", "from", "to", "layer", "parameter", "confidence", "sentence")


def as_text(diagnosis: Diagnosis) -> str:
    """The verdict as the terminal shows it, without colours."""
    from neuraldbg.report import print_verdict

    text = io.StringIO()
    print_verdict(diagnosis, file=text)
    return text.getvalue()


def as_markdown(diagnosis: Diagnosis) -> str:
    """The verdict as a block of Markdown in which spaces and line ends stay."""
    return "\n".join(f"    {line}" for line in as_text(diagnosis).splitlines())


def by_onset(diagnosis: Diagnosis) -> list[SemanticEvent]:
    """The events, the one that began first first."""
    return sorted(diagnosis.events, key=lambda event: event.step_range)


def markers(diagnosis: Diagnosis) -> Iterator[tuple[int, int]]:
    """(step, how many events began up to it), once per step at which one began."""
    counts: dict[int, int] = {}
    for number, event in enumerate(by_onset(diagnosis), start=1):
        counts[max(0, event.step_range[0])] = number
    yield from counts.items()


def event_rows(diagnosis: Diagnosis) -> list[list[object]]:
    """A row of COLUMNS per event; text and numbers alone, an empty string where there is none."""
    return [
        [
            event.step_range[0], event.step_range[1], event.event_type, event.from_state, event.to_state,
            event.layer or "", event.parameter or "", round(float(event.confidence), 4), str(event),
        ]
        for event in by_onset(diagnosis)
    ]  # fmt: skip


def last_step(diagnosis: Diagnosis) -> int:
    """The step that a verdict stands at."""
    return max(0, diagnosis.steps - 1)


def report_page(diagnosis: Diagnosis, trace: AnyPath | None) -> str:
    """The report as one HTML page that opens offline.

    Args:
        trace: the trace that the diagnosis was made of; None, or one that is gone, leaves out the curves.
    """
    from neuraldbg.report.html import render_html
    from neuraldbg.trace_store.reader import read_trace

    recorded = None
    if trace is not None:
        try:
            recorded = read_trace(trace)
        except (TraceError, OSError):
            recorded = None
    return render_html(diagnosis, recorded)
