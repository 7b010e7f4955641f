"""``neuraldbg watch`` on a terminal: trace reader → ``Picture`` → widgets, in that direction alone.

Looks are taken in a thread beside the one that draws, so that a key is obeyed at once, however long a look takes.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from neuraldbg.cli._aside import aside
from neuraldbg.cli._view_widgets import Curves, Events, Loss, Page, Panel, Part, Suspected, Title
from neuraldbg.cli._watcher import Watcher
from neuraldbg.errors import NeuralDbgError
from neuraldbg.report.live import Moment
from neuraldbg.report.picture import picture
from neuraldbg.report.terminal import render

#: Widest terminal on which all stands in one column.
NARROW = 60
#: Widest text of a verdict.
_WIDEST = 98

HELP = """\
q, Ctrl-C  end watching; the run goes on
p          pause: keep what is shown, and go on
e          the verdict in full
Tab        to the next part, to scroll in it
↑ ↓ PgUp PgDn   scroll
Ctrl-Z     suspend; fg comes back
?          this page

▲ under the loss: an event begins there.
× in a curve: a value that is not finite.
A curve of positive numbers that span more
than two decades has a logarithmic scale.
Reading never makes the run wait."""


class WatchApp(App[None]):
    """One run, live."""

    CSS = """
    Screen { background: ansi_default; color: ansi_default; layout: vertical; }
    #title { height: auto; text-style: bold; }
    #keys { height: 1; dock: bottom; text-style: dim; }
    #body { height: 1fr; }
    Panel { border: round ansi_bright_black; padding: 0 1; scrollbar-size-vertical: 1; }
    Panel:focus { border: round ansi_blue; }
    Panel > Part { height: auto; width: 1fr; }
    .-wide #body { layout: grid; grid-size: 2 2; grid-rows: auto 1fr; overflow-y: hidden; }
    .-wide #numbers { row-span: 2; height: 1fr; }
    .-wide #suspected-panel { height: auto; max-height: 60vh; }
    .-wide #loss-panel, .-wide #events-panel, .-wide #loss-panel > Part { height: 1fr; }
    .-wide #curves-panel { height: auto; }
    .-narrow #body { scrollbar-size-vertical: 1; }
    .-narrow #numbers { height: auto; }
    .-narrow Panel { height: auto; border: none; border-top: solid ansi_bright_black; padding: 0; }
    .-narrow Panel:focus { border-top: solid ansi_blue; }
    .-narrow #loss-panel > Part { height: 7; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW + 1, "-wide")]  # noqa: RUF012 - declared so by textual
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("ctrl+c,ctrl+q", "quit", "quit", priority=True),
        Binding("p", "pause", "pause"),
        Binding("e", "explain", "explain"),
        Binding("question_mark", "keys", "help"),
        Binding("ctrl+z", "suspend_process", "suspend", priority=True),
    ]

    def __init__(self, watcher: Watcher, every: float = 1.0) -> None:
        super().__init__(ansi_color=True)
        self.animation_level = "none"
        self.moment: Moment | None = None
        self.frozen = False
        self._watcher, self._every = watcher, every

    def compose(self) -> ComposeResult:
        yield Title(id="title")
        loss, curves = Panel("loss", Loss(), id="loss-panel"), Panel("curves", Curves(), id="curves-panel")
        suspected = Panel("first suspicion", Suspected(), id="suspected-panel")
        events = Panel("events, newest first", Events(), id="events-panel")
        # In this order on a narrow terminal; on a wide one the numbers stand at the right.
        yield VerticalScroll(suspected, Vertical(loss, curves, id="numbers"), events, id="body", can_focus=False)
        yield Static("q quit  p pause  e explain  ? help", id="keys", markup=False)

    def on_mount(self) -> None:
        self.theme = "ansi-dark"
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, getattr(signal, "SIGHUP", None)):
            if number is not None:
                # Not every event loop takes signals (on Windows none does), and only that of the main thread.
                with suppress(NotImplementedError, RuntimeError, ValueError):
                    loop.add_signal_handler(number, self.exit)
        self.app_resume_signal.subscribe(self, lambda _: self._draw_all())
        self.run_worker(self._follow(), exclusive=True)

    def _draw_all(self) -> None:
        """Draws every line: after Ctrl-Z and fg the terminal is empty, and only what changed would be drawn."""
        for screen in self.screen_stack:
            screen.refresh(layout=True)
            for widget in screen.query("*"):
                widget.refresh()

    async def _follow(self) -> None:
        """Looks until nothing will change any more."""
        while True:
            settled, moment = self._watcher.settled, self.moment
            trouble = ""
            try:
                moment = await aside(self._watcher.look)
            except NeuralDbgError as error:
                trouble = str(error)
            if not self.frozen:
                self.show(moment, trouble)
            ended = moment is not None and moment.state != "running"
            if settled and ended and not trouble:
                self.moment = moment
                return
            await asyncio.sleep(0.2 if ended and not trouble else self._watcher.pause(self._every))

    def show(self, moment: Moment | None, trouble: str = "") -> None:
        """Draws the moment."""
        shown = moment or Moment("", 0, "running")
        if trouble:
            shown = replace(shown, note=trouble)
        self.moment = shown
        drawn = picture(shown)
        for part in self.screen_stack[0].query(Part):
            part.show(drawn)

    def action_pause(self) -> None:
        self.frozen = not self.frozen
        title = self.query_one(Title)
        title.paused = self.frozen
        if self.moment is not None:
            self.show(self.moment)

    def action_explain(self) -> None:
        diagnosis = self.moment.diagnosis if self.moment is not None else None
        width = max(min(self.size.width - 5, _WIDEST), 20)
        text = render(diagnosis, width=width) if diagnosis is not None else "There is no verdict yet."
        self.push_screen(Page("verdict", text))

    def action_keys(self) -> None:
        self.push_screen(Page("keys", HELP))
