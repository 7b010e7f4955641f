"""``neuraldbg watch``: a run in progress in another process, live."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuraldbg.cli._say import say
from neuraldbg.cli._watcher import Watcher

if TYPE_CHECKING:
    from neuraldbg.report.live import Moment


def command(
    trace: Annotated[
        str | None, typer.Argument(metavar="TRACE", show_default=False, help="By default the newest trace here.")
    ] = None,
    every: Annotated[float, typer.Option(help="Seconds between two looks at the file.", min=0.1)] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print what is known now, and stop.")] = False,
) -> int:
    """Watch a run in another process: its loss, what happens, and what is suspected.

    Reading never makes the run wait. Keys: q ends watching and leaves the run alone, p pauses, e shows the verdict in
    full, Tab moves, ? shows all. What was seen last stays on the terminal. Where the output is not a terminal it is
    lines, and it ends with the run; so it does, drawn more simply, without the extra `live` (textual).

    \b
    Examples:
      neuraldbg watch
      neuraldbg watch .neuraldbg/train-20250131-142501-4711.ndbg --every 5
      neuraldbg watch --once
    """
    from neuraldbg.cli._verdict import chosen_trace

    watcher = Watcher(chosen_trace(trace))
    if once or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return _print_changes(watcher, every, once)
    watcher.look()  # a file that is no trace is one line, before anything is drawn
    if importlib.util.find_spec("textual") is not None and _owns_terminal():
        return _full_screen(watcher, every)
    return _simple(watcher, every)


def _owns_terminal() -> bool:
    """Whether keys can be read and textual, which writes to standard error, can draw."""
    return all(stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stderr__))


def _full_screen(watcher: Watcher, every: float) -> int:
    from neuraldbg.cli._watch_app import WatchApp
    from neuraldbg.report.live import screen

    app = WatchApp(watcher, every)
    # Without the mouse the terminal's own selection goes on working, and less travels over ssh.
    app.run(mouse=False)
    if app.moment is not None:
        say("\n".join(screen(app.moment, get_terminal_size().columns)))
    return app.return_code or 0


def _simple(watcher: Watcher, every: float) -> int:
    """Drawn by rich: no keys but Ctrl-C."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from neuraldbg.report.live import screen

    console = Console(highlight=False)

    def drawn(moment: Moment, ended: bool) -> Any:
        lines = screen(moment, console.width)
        room = max(console.height - 2, 4)
        hint = "" if ended else "Ctrl-C ends watching; the run goes on. With keys: pip install 'neuraldbg[live]'"
        return Text("\n".join([*lines[:room], hint]), no_wrap=True, overflow="ellipsis")

    moment = watcher.look()
    try:
        with Live(drawn(moment, False), console=console, auto_refresh=False) as live:
            while moment.state == "running":
                time.sleep(watcher.pause(every))
                moment = watcher.look()
                live.update(drawn(moment, False), refresh=True)
            live.update(drawn(watcher.look(wait=True), True), refresh=True)
    except KeyboardInterrupt:
        pass
    return 0


def _print_changes(watcher: Watcher, every: float, once: bool) -> int:
    """For a pipe or a log: a line whenever there are new steps, and the whole at the end."""
    from neuraldbg.report.live import screen
    from neuraldbg.report.text import number

    moment = watcher.look(wait=once)
    last = -1
    while not once and moment.state == "running":
        if moment.steps != last:
            last = moment.steps
            values = moment.curves.get("loss", ())
            say(f"step {moment.steps:,}  loss {number(float(values[-1])) if len(values) else '?'}")
        time.sleep(watcher.pause(every))
        moment = watcher.look()
    say("\n".join(screen(watcher.look(wait=True), get_terminal_size().columns)))
    return 0
