"""The view of ``run --live`` as a textual application in a few lines of a terminal that belongs to somebody else.

The driver moves what textual draws down to the lines that were set aside, between saving and restoring the cursor, and
reads nothing: the keyboard is the script's. While the lines are not ours (Ctrl-Z, a job in the background) it draws
nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, ComposeResult
from textual.containers import Container, Vertical
from textual.driver import Driver
from textual.events import Resize
from textual.geometry import Size

from neuraldbg.cli._aside import aside
from neuraldbg.cli._view_widgets import Curves, Events, Part, Suspected, Title
from neuraldbg.errors import NeuralDbgError
from neuraldbg.report.live import Moment
from neuraldbg.report.picture import picture

if TYPE_CHECKING:
    from neuraldbg.cli._live import Strip
    from neuraldbg.cli._watcher import Watcher

#: Seconds between two looks at the trace, and at whether the terminal is ours.
LOOK_EVERY, CHECK_EVERY = 1.0, 0.2
_MOVE = re.compile(r"\x1b\[(\d+);(\d+)H")
#: What would reach beyond the lines: a newline at the lowest scrolls, an OSC sequence sets the shape of the pointer. No
#: text is lost with them, for each line begins with a move of the cursor.
_NOT_OURS = re.compile(r"\n|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


class StripApp(App[None]):
    """Draws until the process has gone."""

    CSS = """
    Screen { background: ansi_default; color: ansi_default; layout: vertical; overflow: hidden; }
    #title { height: auto; text-style: reverse; }
    #body { height: 1fr; }
    Curves, Suspected, Events { height: auto; width: 1fr; }
    .-wide #body { layout: horizontal; }
    .-wide #words { width: 1fr; height: 1fr; }
    .-wide Curves { padding: 0 2 0 0; }
    .-narrow #body { layout: vertical; }
    .-narrow #words { height: auto; }
    .-narrow Curves { max-height: 2; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (61, "-wide")]  # noqa: RUF012 - declared so by textual
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, strip: Strip, is_ours: Callable[[], bool], is_there: Callable[[], bool], watcher: Callable[[], Watcher]
    ) -> None:
        """``is_ours``: whether the terminal may be drawn on; ``is_there``: whether the script's process still is;
        ``watcher`` gives back who follows the trace that is shown now."""
        self.strip = strip

        class Bound(StripDriver):
            lines = strip

        super().__init__(driver_class=Bound, ansi_color=True)
        self.animation_level = "none"
        self._is_ours, self._is_there, self._watcher = is_ours, is_there, watcher

    def compose(self) -> ComposeResult:
        yield Title(id="title")
        yield Container(Curves(skip=0), Vertical(Suspected(), Events(), id="words"), id="body")

    def on_mount(self) -> None:
        self.theme = "ansi-dark"
        self.run_worker(self._look(), exclusive=False)
        self.run_worker(self._check(), exclusive=False)

    async def _look(self) -> None:
        pause = LOOK_EVERY
        while True:
            try:
                watcher = self._watcher()
                moment = await aside(watcher.look)
                pause = watcher.pause(LOOK_EVERY)
            except NeuralDbgError:  # nothing was committed yet
                moment = Moment("NeuralDBG", 0, "running")
            shown = picture(moment)
            for part in self.query(Part):
                part.show(shown)
            # All lines anew: the script may have cleared the screen, and textual sends only what changed.
            self.screen.refresh()
            await asyncio.sleep(pause)

    async def _check(self) -> None:
        """Takes the lines when the terminal is ours, gives them back when it is not, and ends with the process."""
        while self._is_there():
            if not self._is_ours():
                self.strip.give_back()
            elif self.strip.take():
                if isinstance(self._driver, StripDriver):
                    self._driver.resize()
                await asyncio.sleep(CHECK_EVERY)  # laid out anew by then
                self.screen.refresh(layout=True)
            await asyncio.sleep(CHECK_EVERY)
        self.exit()


class StripDriver(Driver):
    """Writes to the lines of a ``Strip``."""

    lines: ClassVar[Any]

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._pending = ""
        self.resize()

    def resize(self) -> None:
        """Tells the application how large the lines are; the last column stays empty, where a terminal would wrap."""
        size = Size(max(self.lines.size[0] - 1, 1), max(self.lines.height or self.lines.room, 1))
        self._size = (size.width, size.height)
        self._app.post_message(Resize(size, size))

    def write(self, data: str) -> None:
        self._pending += data

    def flush(self) -> None:
        drawn, self._pending = self._pending, ""
        height = self.lines.height
        if not drawn or not height:
            return
        top = self.lines.size[1] - height
        # A line that textual drew before it knew of a smaller strip does not come down on the script's lines.
        moved = _MOVE.sub(
            lambda found: f"\x1b[{top + min(int(found[1]), height)};{found[2]}H", _NOT_OURS.sub("", drawn)
        )
        self.lines.paint(moved)

    def start_application_mode(self) -> None:
        self.resize()

    def disable_input(self) -> None:
        """Nothing is read."""

    def stop_application_mode(self) -> None:
        """The strip gives its lines back itself."""
