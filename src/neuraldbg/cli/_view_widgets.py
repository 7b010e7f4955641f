"""The parts of the live view: each draws a ``Picture`` and knows nothing else, and none reads markup in it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Static

from neuraldbg.report.chart import braille
from neuraldbg.report.picture import Picture
from neuraldbg.report.text import sparkline

#: Styles of the terminal's own palette, so that they suit a light and a dark background, by mood and by outcome.
MOODS = {"good": "ansi_green", "warning": "ansi_yellow", "bad": "bold ansi_red"}
OUTCOMES = {"failed": "bold ansi_red", "uncertain": "bold ansi_yellow", "healthy": "ansi_green"}
_FAINT = "dim"
#: Marks of events in the chart, at most.
_MOST_MARKS = 20


class Part(Static):
    """Text that is drawn anew when the picture or the size changes."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", markup=False, id=id)
        self.picture: Picture | None = None

    def show(self, picture: Picture) -> None:
        self.picture = picture
        self._draw()

    def on_resize(self, event: Resize) -> None:
        self._draw()

    def drawn(self, picture: Picture, width: int, height: int) -> Content:
        raise NotImplementedError

    def _draw(self) -> None:
        width = self.size.width
        if self.picture is None or width < 1:
            return
        content = self.drawn(self.picture, width, self.size.height)
        if content != self.content:
            self.update(content)


class Title(Part):
    """Script, steps, state, steps a second; folded between them where the line is too short."""

    paused = False

    def drawn(self, picture: Picture, width: int, height: int) -> Content:
        # The parts stay whole: "12 steps/s" is not to become "2 steps/s" on the next line.
        head = f"{picture.script} · {picture.steps} · "
        parts = [Content.assemble(head, (picture.state, MOODS[picture.mood]))]
        if picture.rate:
            parts.append(Content(picture.rate))
        if self.paused:
            parts.append(Content.styled("PAUSED", "reverse"))
        lines, line = [], parts[0]
        for part in parts[1:]:
            joined = Content.assemble(line, " · ", part)
            if joined.cell_length > width:
                lines.append(line)
                joined = part
            line = joined
        return Content("\n").join([*lines, line])


class Suspected(Part):
    """What is suspected, since when, how surely, and what to do."""

    def drawn(self, picture: Picture, width: int, height: int) -> Content:
        suspicion = picture.suspicion
        lines = [Content.styled(suspicion.headline, OUTCOMES.get(suspicion.outcome, ""))]
        for position, (title, confidence, place) in enumerate(suspicion.causes):
            style = "bold" if position == 0 else ""
            lines.append(Content.assemble((title, style), f" ({confidence:.2f})"))
            if place:
                lines.append(Content(f"  {place}"))
        if suspicion.since is not None:
            lines.append(Content.styled(f"since step {suspicion.since:,}", _FAINT))
        if suspicion.remedy:
            lines.append(Content.assemble(("Do: ", "bold ansi_green"), suspicion.remedy))
        if picture.note:
            lines.append(Content.styled(picture.note, "ansi_yellow"))
        return Content("\n").join(lines)


class Loss(Part):
    """The loss over the steps, with a mark where an event begins."""

    def drawn(self, picture: Picture, width: int, height: int) -> Content:
        curve = next(iter(picture.curves), None)
        if curve is None:
            return Content("No loss was seen yet.")
        marks = sorted({event.step for event in picture.events})[:_MOST_MARKS]
        name = Content.assemble((f"{curve.name} ", "bold"), curve.last)
        lines = [Content(line) for line in braille(curve.steps, curve.values, width, max(height - 1, 2), marks)]
        return Content("\n").join([name, *lines])


class Curves(Part):
    """The other curves, one line each."""

    def __init__(self, skip: int = 1) -> None:
        super().__init__()
        self._skip = skip

    def drawn(self, picture: Picture, width: int, height: int) -> Content:
        curves = picture.curves[self._skip :]
        longest = max((len(curve.name) for curve in curves), default=0)
        lines = []
        for curve in curves:
            room = max(4, min(60, width - longest - 14))
            blocks = f"{sparkline(curve.values, room):<{room}}"
            lines.append(Content.assemble(f"{curve.name:<{longest}}  ", blocks, f"  {curve.last}"))
        return Content("\n").join(lines)


class Events(Part):
    """The events, the newest on top."""

    def drawn(self, picture: Picture, width: int, height: int) -> Content:
        if not picture.events:
            return Content("No event so far.")
        lines = []
        for event in picture.events:
            lines.append(Content.assemble((event.when, "bold"), f"  {event.place}: {event.kind}"))
            if event.sentence:
                lines.append(Content.styled(f"  {event.sentence}", _FAINT))
        hidden = picture.event_count - len(picture.events)
        if hidden > 0:
            lines.append(Content.styled(f"and {hidden:,} earlier ones", _FAINT))
        return Content("\n").join(lines)


class Panel(VerticalScroll):
    """A part in a frame, that scrolls by itself where it is too long."""

    def __init__(self, title: str, part: Part, id: str) -> None:
        super().__init__(part, id=id)
        self.border_title = Content(title)


class Page(ModalScreen[None]):
    """A text over the whole terminal, until a key closes it."""

    DEFAULT_CSS = """
    Page { background: ansi_default; }
    Page > #frame { border: round ansi_blue; padding: 0 1; background: ansi_default; }
    Page #text { height: auto; width: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,e,question_mark,enter", "close", "Close"),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        frame = Container(VerticalScroll(Static(Content(self._text), id="text")), id="frame")
        frame.border_title = Content(self._title)
        frame.border_subtitle = Content("q or Esc closes")
        yield frame

    def action_close(self) -> None:
        self.dismiss()
