"""``neuraldbg watch``: a run in progress in another process, live."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuraldbg.cli._say import say

if TYPE_CHECKING:
    from neuraldbg.records import Diagnosis
    from neuraldbg.report.live import Moment
    from neuraldbg.trace_store.tail import Tail

#: Seconds between two diagnoses, at least; and as a multiple of what one takes.
DIAGNOSE_EVERY, DIAGNOSE_SHARE = 5.0, 10.0
FOLLOWED = ("loss.value", "evaluation.loss", "gradient.norm", "update.ratio")
#: Names of the curves on the screen.
LABELS = {"loss.value": "loss", "evaluation.loss": "validation", "gradient.norm": "gradient", "update.ratio": "update"}


def command(
    trace: Annotated[
        str | None, typer.Argument(metavar="TRACE", show_default=False, help="By default the newest trace here.")
    ] = None,
    every: Annotated[float, typer.Option(help="Seconds between two looks at the file.", min=0.1)] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print what is known now, and stop.")] = False,
) -> int:
    """Watch a run in another process: its loss, what happens, and what is suspected.

    Reading never makes the run wait. It ends with the run, or with Ctrl-C, which leaves the run alone.

    \b
    Examples:
      neuraldbg watch
      neuraldbg watch .neuraldbg/train-20250131-142501-4711.ndbg --every 5
    """
    from neuraldbg.cli._verdict import chosen_trace

    path = chosen_trace(trace)
    if once or not sys.stdout.isatty():
        return _print_changes(path, every, once)
    return _live(path, every)


class Watcher:
    """Follows a trace; diagnoses it in a thread of its own, so that the screen never stands still."""

    def __init__(self, path: Path) -> None:
        from neuraldbg.trace_store.tail import Tail

        self.tail: Tail = Tail(path, FOLLOWED)
        self.diagnosis: Diagnosis | None = None
        self.trouble = ""
        self._thread: threading.Thread | None = None
        self._next = 0.0
        self._diagnosed = -2

    def look(self, wait: bool = False) -> Moment:
        """Reads what is new, and begins a diagnosis when one is due; with ``wait`` it is finished on return."""
        from neuraldbg.cli._verdict import is_running
        from neuraldbg.report.live import Moment

        self.tail.look()
        meta = self.tail.meta
        running = is_running(meta)
        due = time.monotonic() >= self._next and (self._thread is None or not self._thread.is_alive())
        if (due or wait) and self._diagnosed != self.tail.last_step:
            self._diagnosed = self.tail.last_step
            self._thread = threading.Thread(target=self._diagnose, daemon=True)
            self._thread.start()
        if wait and self._thread is not None:
            self._thread.join()
        state = "running" if running else "finished" if meta.get("finished") else "its process has gone"
        steps = max(self.tail.last_step, int(meta.get("last_step", -1))) + 1
        curves = {LABELS[name]: self.tail.values[name] for name in FOLLOWED if self.tail.values.get(name)}
        script = Path(str(meta.get("script") or self.tail.path.stem)).name
        return Moment(script, steps, state, curves, self.diagnosis, self.trouble)

    def _diagnose(self) -> None:
        from neuraldbg.cli._verdict import judge

        begin = time.thread_time()  # what it costs, not how long it waited for a busy machine
        try:
            self.diagnosis, _ = judge(self.tail.path)
            self.trouble = ""
        except Exception as error:  # the next look may succeed: the curves go on meanwhile
            self.trouble = f"No verdict yet ({type(error).__name__}: {error})."
        self._next = time.monotonic() + max(DIAGNOSE_EVERY, DIAGNOSE_SHARE * (time.thread_time() - begin))


def _live(path: Path, every: float) -> int:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from neuraldbg.report.live import screen

    console = Console(highlight=False)
    watcher = Watcher(path)

    def drawn(moment: Moment, ended: bool) -> Any:
        lines = screen(moment, console.width)
        room = max(console.height - 2, 4)
        hint = "" if ended else "Ctrl-C ends watching; the run goes on."
        return Text("\n".join([*lines[:room], hint]), no_wrap=True, overflow="crop")

    moment = watcher.look()
    try:
        with Live(drawn(moment, False), console=console, auto_refresh=False) as live:
            while moment.state == "running":
                time.sleep(every)
                moment = watcher.look()
                live.update(drawn(moment, False), refresh=True)
            live.update(drawn(watcher.look(wait=True), True), refresh=True)
    except KeyboardInterrupt:
        pass
    return 0


def _print_changes(path: Path, every: float, once: bool) -> int:
    """For a pipe or a log: a line whenever there are new steps, and the whole at the end."""
    from neuraldbg.report.live import screen
    from neuraldbg.report.text import number

    watcher = Watcher(path)
    moment = watcher.look(wait=once)
    last = -1
    while not once and moment.state == "running":
        if moment.steps != last:
            last = moment.steps
            values = moment.curves.get("loss", ())
            say(f"step {moment.steps:,}  loss {number(float(values[-1])) if len(values) else '?'}")
        time.sleep(every)
        moment = watcher.look()
    say("\n".join(screen(watcher.look(wait=True), get_terminal_size().columns)))
    return 0
