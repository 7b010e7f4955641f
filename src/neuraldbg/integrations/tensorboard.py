"""TensorBoard: the verdict and the events of a run, as text beside its curves."""

from __future__ import annotations

import io
from typing import Any

from neuraldbg.records import Diagnosis


def write_diagnosis(diagnosis: Diagnosis, writer: Any) -> None:
    """Write the verdict, the events and a marker per event.

    Under *Text*: ``neuraldbg/verdict`` at the last step, ``neuraldbg/events`` with a line per event at its first step.
    Under *Scalars*: ``neuraldbg/events_so_far``, which rises by one where an event begins.

    Args:
        diagnosis: ``debugger.diagnosis()``.
        writer: a ``SummaryWriter``, or anything with its add_text and add_scalar.
    """
    last = max(0, diagnosis.steps - 1)
    writer.add_text("neuraldbg/verdict", "\n".join(f"    {line}" for line in as_text(diagnosis).splitlines()), last)
    events = sorted(diagnosis.events, key=lambda event: event.step_range[0])
    for count, event in enumerate(events, start=1):
        writer.add_text("neuraldbg/events", str(event), event.step_range[0])
        writer.add_scalar("neuraldbg/events_so_far", count, event.step_range[0])
    for rank, hypothesis in enumerate(diagnosis.hypotheses):
        writer.add_scalar(f"neuraldbg/confidence/{hypothesis.cause}", hypothesis.confidence, last)
        writer.add_text("neuraldbg/hypotheses", f"{rank + 1}. {hypothesis}", last)


def as_text(diagnosis: Diagnosis) -> str:
    """The verdict as the terminal shows it, without colours."""
    from neuraldbg.report import print_verdict

    text = io.StringIO()
    print_verdict(diagnosis, file=text)
    return text.getvalue()
