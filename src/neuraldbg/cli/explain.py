"""``neuraldbg explain``: the verdict of a trace, or the page of a rule."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from neuraldbg.cli._say import complain, say
from neuraldbg.errors import UsageError

if TYPE_CHECKING:
    from neuraldbg.records import Diagnosis, Trace

EXIT_HEALTHY = 0
EXIT_EXPLAINED = 1
EXIT_UNREADABLE = 2


def command(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="TRACE|FOLDER|CAUSE|EVENT", show_default=False, help="By default the newest trace here."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole diagnosis as JSON.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Add the findings with their numbers.")] = False,
) -> int:
    """Print the verdict of a trace, or the page of a cause.

    The trace is read from the file alone, also that of a run that was killed or that goes on. Of a folder the last run
    is explained, all its processes together. A cause, a detector or an event type gives what is known about it.

    The exit code is 0 when nothing failed, 1 when a failure was explained, 2 when the file could not be read.

    \b
    Examples:
      neuraldbg explain
      neuraldbg explain .neuraldbg/train-20250131-142501-4711.ndbg --json
      neuraldbg explain dying_relu
    """
    from neuraldbg.cli._verdict import chosen_trace

    if what is None:
        return _explain_trace(chosen_trace(None), as_json, verbose)
    path = Path(what)
    if path.is_dir():
        return _explain_folder(path, as_json, verbose)
    if path.exists():
        return _explain_trace(path, as_json, verbose)
    from neuraldbg.cli._rules import near, page, print_page
    from neuraldbg.trace_store.location import trace_named

    shown = page(what)
    if shown is not None:
        from rich.console import Console

        print_page(shown, Console(highlight=False))
        return 0
    named = trace_named(what)
    if named is not None:
        return _explain_trace(named, as_json, verbose)
    if len(path.parts) > 1 or path.suffix:
        raise UsageError(f"expected a trace, found no file {what!r}; `neuraldbg list` shows those of this folder")
    alike = near(what)
    hint = f"did you mean {', '.join(alike)}?" if alike else "`neuraldbg list` shows the traces of this folder"
    complain(f"{what!r} is no file, no cause and no event; {hint}")
    return EXIT_UNREADABLE


def _explain_folder(folder: Path, as_json: bool, verbose: bool) -> int:
    """The newest run in a folder, all its ranks together."""
    from neuraldbg.cli._ranks import judge_together, traces_of_last_run

    return _explain(*judge_together(traces_of_last_run(folder)), as_json, verbose)


def _explain_trace(path: Path, as_json: bool, verbose: bool) -> int:
    from neuraldbg.cli._verdict import judge

    return _explain(path, *judge(path), as_json, verbose)


def _explain(path: Path, diagnosis: Diagnosis, trace: Trace, as_json: bool, verbose: bool) -> int:
    from neuraldbg.cli._verdict import curves, is_running, keep
    from neuraldbg.report import print_verdict, to_json

    running = is_running(trace.meta)
    if not running:
        keep(path, diagnosis)
    if as_json:
        say(to_json(diagnosis, trace=str(path)))
    else:
        print_verdict(diagnosis, file=sys.stdout, verbose=verbose, series=curves(trace) if verbose else None)
        if running:
            say("\nThe run goes on: this is the verdict so far.")
    return EXIT_EXPLAINED if diagnosis.outcome in ("failed", "uncertain") else EXIT_HEALTHY
