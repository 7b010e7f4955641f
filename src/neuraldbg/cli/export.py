"""``neuraldbg export``: a trace and its verdict in the formats of other programs."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from neuraldbg.cli._say import say
from neuraldbg.errors import UsageError


class Format(str, Enum):
    """What a trace can be turned into."""

    json = "json"
    csv = "csv"
    parquet = "parquet"
    mermaid = "mermaid"
    dot = "dot"
    sarif = "sarif"


def command(
    to: Annotated[
        Format, typer.Option("--to", help="The diagnosis: json, mermaid, dot, sarif. The numbers: csv, parquet.")
    ],
    trace: Annotated[
        str | None, typer.Argument(metavar="TRACE", show_default=False, help="By default the newest trace here.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", show_default=False, help="By default standard output."),
    ] = None,
) -> int:
    """Write a trace, or its diagnosis, for another program.

    CSV and Parquet have a row per number: step, quantity, kind, place, value. Parquet needs `neuraldbg[parquet]` and
    goes to a file, TRACE.parquet by default.

    \b
    Examples:
      neuraldbg export --to sarif -o verdict.sarif
      neuraldbg export .neuraldbg/train-20250131-142501-4711.ndbg --to csv | head
    """
    from neuraldbg.cli._verdict import chosen_trace, judge, shown_path
    from neuraldbg.report import causal_graph, to_json
    from neuraldbg.report.dot import causal_dot
    from neuraldbg.report.sarif import to_sarif
    from neuraldbg.report.tables import write_csv, write_parquet
    from neuraldbg.trace_store.reader import read_trace

    path = chosen_trace(trace)
    target = Path(output) if output is not None else None
    if to is Format.parquet:
        target = target or path.with_suffix(".parquet")
        try:
            write_parquet(read_trace(path), target)
        except OSError as error:
            raise _not_writable(target, error) from error
    elif to is Format.csv:
        if target is None:
            write_csv(read_trace(path), sys.stdout)
            return 0
        try:
            with open(target, "w", encoding="utf-8", newline="") as stream:
                write_csv(read_trace(path), stream)
        except OSError as error:
            raise _not_writable(target, error) from error
    else:
        diagnosis, _ = judge(path)
        if to is Format.json:
            text = to_json(diagnosis, trace=str(path))
        else:
            text = {Format.mermaid: causal_graph, Format.dot: causal_dot, Format.sarif: to_sarif}[to](diagnosis)
        if target is None:
            say(text.rstrip("\n"))
            return 0
        from neuraldbg.cli.report import write

        write(target, text.rstrip("\n") + "\n")
    say(f"Written: {shown_path(str(target))}")
    return 0


def _not_writable(target: Path, error: OSError) -> UsageError:
    return UsageError(f"expected a file that can be written, found {str(target)!r} ({error.strerror}); name another")
