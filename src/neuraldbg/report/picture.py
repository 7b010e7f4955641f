"""What a live view shows of a run, decided before it is drawn: every string is clean, every list has its order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from neuraldbg.records import Diagnosis, SemanticEvent
from neuraldbg.report.live import Moment
from neuraldbg.report.text import clean, count, number
from neuraldbg.report.view import build_view

#: Events that are listed.
MOST_EVENTS = 200
#: Seconds without a step after which a run is said to stand still, and as a multiple of what a step takes.
STILL_AFTER, STILL_STEPS = 10.0, 5.0


@dataclass(frozen=True)
class EventLine:
    """One event of the list."""

    step: int
    #: "step 417", "steps 417-600".
    when: str
    #: Module, parameter, or what the event is about.
    place: str
    #: "healthy → exploding".
    kind: str
    #: The event in a sentence, or "".
    sentence: str


@dataclass(frozen=True)
class Suspicion:
    """What is suspected, or that nothing is."""

    #: "failed", "uncertain", "healthy" or "unseen", and "" before the first diagnosis.
    outcome: str
    #: What went wrong, in one sentence; else that nothing did.
    headline: str
    #: (title of the cause, its probability, place), the most probable first.
    causes: tuple[tuple[str, float, str], ...] = ()
    #: First step of the symptom, or None.
    since: int | None = None
    #: What to do about the first cause, or "".
    remedy: str = ""


@dataclass(frozen=True)
class CurveLine:
    """One curve."""

    name: str
    steps: Sequence[int]
    #: As many as there are steps.
    values: Sequence[float]
    #: The newest value, as it is shown.
    last: str


@dataclass(frozen=True)
class Picture:
    """All that is shown of one moment of a run."""

    script: str
    #: "12,345 steps".
    steps: str
    #: "998 steps/s", "12 s/step", or "" where it is not known.
    rate: str
    #: "running", "no step for 40 s", "finished", "its process has gone".
    state: str
    #: "good", "warning" or "bad": how the state is coloured.
    mood: str
    #: The loss comes first, where there is one.
    curves: tuple[CurveLine, ...]
    suspicion: Suspicion
    #: The newest first.
    events: tuple[EventLine, ...] = ()
    #: How many there are in all.
    event_count: int = 0
    note: str = ""


def picture(moment: Moment) -> Picture:
    """What is shown of the moment."""
    diagnosis = moment.diagnosis
    events = diagnosis.events if diagnosis is not None else ()
    newest = sorted(events, key=lambda event: event.step_range[0], reverse=True)[:MOST_EVENTS]
    state, mood = _state(moment)
    curves = (
        CurveLine(
            # Copied: the reader goes on adding to its lists in another thread.
            name,
            tuple(moment.steps_of.get(name, range(len(values)))),
            tuple(values),
            number(float(values[-1])),
        )
        for name, values in moment.curves.items()
        if len(values)
    )
    return Picture(
        clean(moment.script),
        count(moment.steps, "step"),
        _rate(moment.rate) if state == "running" else "",
        state,
        mood,
        tuple(curves),
        _suspicion(diagnosis),
        tuple(_event(event) for event in newest),
        len(events),
        clean(moment.note),
    )


def _state(moment: Moment) -> tuple[str, str]:
    if moment.state == "finished":
        return "finished", "good"
    if moment.state != "running":
        return clean(moment.state), "bad"
    usual = 1 / moment.rate if moment.rate else 0.0
    if moment.still > max(STILL_AFTER, STILL_STEPS * usual):
        return f"no step for {_duration(moment.still)}", "warning"
    return "running", "good"


def _rate(rate: float | None) -> str:
    if not rate or not math.isfinite(rate):
        return ""
    return f"{number(float(f'{rate:.3g}'))} steps/s" if rate >= 0.95 else f"{number(1 / rate)} s/step"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _event(event: SemanticEvent) -> EventLine:
    first, last = event.step_range
    when = f"step {first:,}" if first == last else f"steps {first:,}-{last:,}"
    kind = f"{event.from_state} → {event.to_state}"
    return EventLine(first, when, clean(event.place), clean(kind), clean(event.metadata.get("sentence") or ""))


def _suspicion(diagnosis: Diagnosis | None) -> Suspicion:
    if diagnosis is None:
        return Suspicion("", "Reading what was recorded …")
    if diagnosis.outcome == "healthy":
        return Suspicion("healthy", "Nothing suspicious so far.")
    if diagnosis.outcome == "unseen":
        return Suspicion("unseen", "Nothing to judge yet.")
    view = build_view(diagnosis)
    causes = [(reason.title, reason.confidence, reason.place) for reason in view.reasons]
    causes += [(rival.cause, rival.confidence, "") for rival in view.rivals]
    since = diagnosis.symptom.step if diagnosis.symptom is not None else None
    remedy = view.reasons[0].remedy if view.reasons else ""
    return Suspicion(diagnosis.outcome, view.headline, tuple(causes[:3]), since, remedy)
