"""``neuraldbg list``: the traces of this folder."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from shutil import get_terminal_size

from neuraldbg.cli._say import say
from neuraldbg.cli._verdict import is_running, shown_path
from neuraldbg.errors import TraceError


def command() -> int:
    """List the traces of this folder.

    Script, age, steps, verdict; the newest first.

    \b
    Example:
      neuraldbg list
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from neuraldbg.trace_store.location import list_traces, trace_folder

    traces = list_traces()
    if not traces:
        say(f"No traces in {shown_path(str(trace_folder()))}; make one: neuraldbg run train.py")
        return 0
    table = Table(box=None, pad_edge=False, show_edge=False)
    for name in ("script", "age", "steps"):
        table.add_column(name, justify="right" if name == "steps" else "left", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    for path in traces:
        script, steps, verdict = describe(path)
        row = (script, age(time.time() - path.stat().st_mtime), steps, f"{verdict}\n{shown_path(str(path))}")
        table.add_row(*(Text(cell) for cell in row))
    # A table squeezed into a pipe's 80 columns folds paths; whoever reads it then is a program.
    drawn = io.StringIO()
    Console(file=drawn, highlight=False, width=get_terminal_size().columns if sys.stdout.isatty() else 240).print(table)
    say("\n".join(line.rstrip() for line in drawn.getvalue().splitlines()))
    return 0


def describe(path: Path) -> tuple[str, str, str]:
    """(script, steps, verdict) of one trace."""
    from neuraldbg.report.text import clean
    from neuraldbg.trace_store.reader import summary

    try:
        meta = summary(path)
    except TraceError:
        return path.stem, "?", "cannot be read"
    script = Path(clean(meta.get("script") or path.stem)).name
    last_step = meta.get("last_step")
    steps = f"{last_step + 1:,}" if isinstance(last_step, int) else "?"
    if is_running(meta):
        return script, steps, "running"
    return script, steps, clean(meta.get("verdict") or "not explained yet")


def age(seconds: float) -> str:
    """Seconds in the largest unit that fits: ``5 min``."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} s"
