"""The table of a verification."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from neuraldbg.records import Diagnosis
from neuraldbg.records.verdict import Verdict, Verification
from neuraldbg.report.proof import effect
from neuraldbg.report.terminal import can_print
from neuraldbg.report.text import clean

_STYLES = {"confirmed": "bold green", "refuted": "red", "inconclusive": "yellow"}


def print_table(diagnosis: Diagnosis, result: Verification, fix: bool) -> None:
    """What was tried and what came of it, on standard output; one row per hypothesis."""
    console = Console(file=sys.stdout, highlight=False, emoji=False, markup=False)
    if not sys.stdout.isatty():
        # A table that a program reads, or a log keeps, is not folded to somebody's terminal.
        console.width = max(console.width, 120)
    console.print(Text(clean(diagnosis.summary), style="bold"), soft_wrap=True)
    failed, judged = result.placebo
    console.print(
        f"Without a change it failed in {failed} of {judged} runs of at most {result.steps} steps.", soft_wrap=True
    )
    console.print()
    unicode = can_print(sys.stdout, "─…")
    table = Table(box=None, pad_edge=False, header_style="bold", safe_box=not unicode)
    for column in ("cause", "intervention", "failed without/with", "effect (95 %)", "verdict", "posterior"):
        table.add_column(column, overflow="fold")
    for verdict in result.verdicts:
        table.add_row(*_row(verdict))
    console.print(table)
    console.print()
    for verdict in result.verdicts:
        for line in _lines(verdict):
            console.print(Text(clean(line)), soft_wrap=True)
    if fix:
        _print_fixes(console, result)
    for note in result.notes:
        console.print(Text(f"Note: {clean(note)}."), soft_wrap=True)


def _row(verdict: Verdict) -> list[Text]:
    name = verdict.intervention or "none from outside"
    if verdict.intervention and verdict.strength is not None:
        name += f" ({verdict.strength:g})"
    runs = f"{_of(verdict.failed_without)} / {_of(verdict.failed_with)}"
    return [
        Text(clean(verdict.cause)),
        Text(name),
        Text(runs),
        Text(effect(verdict)),
        Text(verdict.verdict, style=_STYLES[verdict.verdict]),
        Text(f"{verdict.prior:.2f} -> {verdict.posterior:.2f}"),
    ]


def _of(counts: tuple[int, int]) -> str:
    return f"{counts[0]} of {counts[1]}" if counts[1] else "-"


def _lines(verdict: Verdict) -> list[str]:
    place = f" at {verdict.where}" if verdict.where else ""
    lines = [f"{verdict.cause}{place}: {verdict.verdict}, {verdict.reason.rstrip('.')}."]
    lines += [f"  {change}" for change in verdict.changes[:4]]
    lines += [f"  {trouble}" for trouble in verdict.trouble]
    if verdict.instead:
        lines.append(f"  What you can do instead: {verdict.instead}.")
    return lines


def _print_fixes(console: Console, result: Verification) -> None:
    console.print()
    chosen = result.confirmed
    if not chosen:
        console.print("No fix is shown: no cause was confirmed.")
    for verdict in chosen:
        console.print(Text(f"The smallest change against {verdict.cause} (nothing was edited):", style="bold"))
        for line in verdict.fix:
            style = "green" if line.startswith("+ ") else "red" if line.startswith("- ") else ""
            console.print(Text("  " + clean(line), style=style), soft_wrap=True)
