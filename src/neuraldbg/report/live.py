"""A run in progress on one screen: loss, what was found so far, whether it still goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.cells import set_cell_size

from neuraldbg.records import Diagnosis
from neuraldbg.report.text import clean, count, number, sparkline
from neuraldbg.report.view import build_view

#: Events that are listed, the newest last.
MOST_EVENTS = 8


@dataclass(frozen=True)
class Moment:
    """What is known of a run right now."""

    script: str
    steps: int
    #: "running", "finished", or "its process has gone" for a run that was killed.
    state: str
    #: Curves by label.
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None
    #: A remark, such as how long the last reading took.
    note: str = ""
    #: The steps of each curve, by its label.
    steps_of: Mapping[str, Sequence[int]] = field(default_factory=dict)
    #: Steps a second, or None while it is not known.
    rate: float | None = None
    #: Seconds since the last new step.
    still: float = 0.0


def screen(moment: Moment, width: int) -> list[str]:
    """The lines of the screen, each of at most ``width`` characters."""
    lines = [f"{clean(moment.script)} · {count(moment.steps, 'step')} · {moment.state}", ""]
    lines += _curves(moment, width)
    diagnosis = moment.diagnosis
    if diagnosis is not None:
        lines += ["", *_suspicion(diagnosis)]
        shown = diagnosis.events[-MOST_EVENTS:]
        if shown:
            lines += ["", f"Events ({len(diagnosis.events):,}):"]
            lines += [f"  {clean(str(event))}" for event in shown]
    if moment.note:
        lines += ["", clean(moment.note)]
    return [part for line in lines for part in _folded(line, width)]


def strip(moment: Moment, width: int, height: int) -> list[str]:
    """The same in at most ``height`` lines of at most ``width`` characters, what matters most first; none is folded."""
    lines = [f"NeuralDBG · {clean(moment.script)} · {count(moment.steps, 'step')} · {moment.state}"]
    curves = _curves(moment, width)
    lines += curves[:1]
    diagnosis = moment.diagnosis
    if diagnosis is not None:
        lines += _suspicion(diagnosis)[: max(height - len(lines) - 1, 1)]
        room = height - len(lines) - len(curves[1:])
        shown = diagnosis.events[-room:] if room > 0 else ()
        lines += curves[1:]
        lines += [f"  {clean(str(event))}" for event in shown]
    else:
        lines += curves[1:]
    if moment.note:
        lines.append(clean(moment.note))
    return [set_cell_size(line, width).rstrip() for line in lines[:height]]


def _curves(moment: Moment, width: int) -> list[str]:
    longest = max((len(name) for name in moment.curves), default=0)
    lines = []
    for name, values in moment.curves.items():
        ends = number(float(values[-1])) if len(values) else ""
        room = max(8, min(60, width - longest - len(ends) - 4))
        lines.append(f"{name:<{longest}}  {sparkline(values, room)}  {ends}")
    return lines or ["No loss was seen yet."]


def _suspicion(diagnosis: Diagnosis) -> list[str]:
    view = build_view(diagnosis)
    if diagnosis.outcome in ("healthy", "unseen"):
        return ["Nothing is wrong so far." if diagnosis.outcome == "healthy" else "Nothing to judge yet."]
    lines = [f"SUSPECTED  {view.headline}"]
    for reason in view.reasons[:2]:
        place = f" · {reason.place}" if reason.place else ""
        lines.append(f"  {reason.title} ({reason.confidence:.2f}){place}")
        if reason.remedy:
            lines.append(f"  Do: {reason.remedy}")
    for rival in view.rivals[:3]:
        lines.append(f"  {rival.cause} ({rival.confidence:.2f})")
    return lines


def _folded(line: str, width: int) -> list[str]:
    """The line in pieces of at most ``width``, broken between words where there are any."""
    if len(line) <= width:
        return [line]
    indent = " " * min(len(line) - len(line.lstrip()) + 2, max(width - 12, 0))
    pieces, rest = [], line
    while len(rest) > width:
        at = rest.rfind(" ", len(indent) + 1, width + 1)
        at = at if at > 0 else width
        pieces.append(rest[:at].rstrip())
        rest = indent + rest[at:].lstrip()
    return [*pieces, rest]
