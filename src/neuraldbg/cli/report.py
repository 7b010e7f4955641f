"""``neuraldbg report``: the verdict and everything behind it, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuraldbg.cli._say import say
from neuraldbg.errors import UsageError


def command(
    trace: Annotated[
        str | None, typer.Argument(metavar="TRACE", show_default=False, help="By default the newest trace here.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", show_default=False, help="By default TRACE.html.")
    ] = None,
) -> int:
    """Write the report of a trace: one HTML file that opens offline.

    It holds the verdict, the loss, the layers over time, the causal graph, the hypotheses with their evidence, and what
    was not measured.

    \b
    Examples:
      neuraldbg report
      neuraldbg report .neuraldbg/train-20250131-142501-4711.ndbg -o run.html
    """
    from neuraldbg.cli._verdict import chosen_trace, is_running, judge, keep, shown_path
    from neuraldbg.report.html import render_html

    path = chosen_trace(trace)
    diagnosis, recorded = judge(path)
    running = is_running(recorded.meta)
    if not running:
        keep(path, diagnosis)
    target = Path(output) if output is not None else path.with_suffix(".html")
    write(target, render_html(diagnosis, recorded))
    say(f"{diagnosis.summary}\nReport: {shown_path(str(target))}")
    if running:
        say("The run goes on: this is what is known so far.")
    return 0


def write(target: Path, text: str) -> None:
    """Writes a file in one piece; raises UsageError where that is not possible."""
    beside = target.with_name(target.name + ".part")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(target)
    except OSError as error:
        raise UsageError(
            f"expected a file that can be written, found {str(target)!r} ({error.strerror}); name another"
        ) from error
