"""``neuraldbg diff``: where two runs part."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from neuraldbg.cli._say import say

#: Lines of one kind that are printed.
MOST = 8


def command(
    first: Annotated[str, typer.Argument(metavar="A", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="B", show_default=False)],
    tolerance: Annotated[float, typer.Option(help="Relative difference that counts as equal.")] = 1e-3,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> int:
    """Compare two traces: the first step and place at which they part, and what is set differently.

    Places are named in data-flow order: inputs, layers, loss, gradients from the loss back, updates. The exit code is 0
    when the runs agree, 1 when they part.

    \b
    Examples:
      neuraldbg diff failing.ndbg healthy.ndbg
      neuraldbg diff before.ndbg after.ndbg --tolerance 1e-6
    """
    from neuraldbg.cli._verdict import chosen_trace, judge
    from neuraldbg.report.compare import compare
    from neuraldbg.report.text import clean

    one, own = judge(chosen_trace(first))
    other, their = judge(chosen_trace(second))
    found = compare(own, their, (one, other), tolerance)
    if as_json:
        say(json.dumps({"schema_version": 1, "first": first, "second": second, **found.as_dict()}, indent=2))
        return 1 if found.parted else 0
    say(f"A  {clean(first)}: {clean(one.summary)}\nB  {clean(second)}: {clean(other.summary)}\n")
    if found.parted:
        lead = found.parted[0]
        say(f"PARTED   step {lead.step:,}: {lead.sentence}")
        for difference in found.parted[1:MOST]:
            say(f"         then {difference.sentence}")
        _more(len(found.parted))
    elif found.compared:
        say(f"PARTED   nowhere: {found.compared:,} numbers up to step {found.last_common:,} agree")
    for name, lines in (
        ("SETTINGS", [f"{name}: {own_value} | {their_value}" for name, own_value, their_value in found.settings]),
        ("ONLY A", [clean(str(event)) for event in found.only_first]),
        ("ONLY B", [clean(str(event)) for event in found.only_second]),
        ("NOTE", list(found.notes)),
    ):
        for position, line in enumerate(lines[:MOST]):
            say(f"{name if position == 0 else '':<9}{line}" if position else f"\n{name:<9}{line}")
        _more(len(lines))
    return 1 if found.parted else 0


def _more(amount: int) -> None:
    if amount > MOST:
        say(f"         and {amount - MOST} more")
