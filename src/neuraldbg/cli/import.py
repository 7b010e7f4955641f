"""``neuraldbg import``: what can be said of a run that was not watched, from its log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from neuraldbg.cli._say import say


def command(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="CSV, JSON lines, trainer_state.json or TensorBoard.")],
    loss: Annotated[str | None, typer.Option("--loss", help="The column of the training loss.")] = None,
    validation: Annotated[str | None, typer.Option("--validation", help="The column of the validation loss.")] = None,
    rate: Annotated[str | None, typer.Option("--rate", help="The column of the learning rate.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole diagnosis as JSON.")] = False,
) -> int:
    """Judge a run by its log alone.

    Losses and learning rates say less than a trace: the verdict ends with what could not be checked. Columns are found
    by their usual names.

    \b
    Examples:
      neuraldbg import metrics.csv
      neuraldbg import trainer_state.json
      neuraldbg import runs/today --loss train/nll
    """
    from dataclasses import replace

    from neuraldbg.cli._log import UNCHECKED, Columns, judge_log, read_log
    from neuraldbg.cli.explain import EXIT_EXPLAINED, EXIT_HEALTHY
    from neuraldbg.report import print_verdict, to_json

    trace, taken = read_log(log, Columns(loss, validation, rate))
    diagnosis = judge_log(trace)
    read = ", ".join(f"{role} from {name!r}" for role, name in taken.items())
    diagnosis = replace(diagnosis, notes=(f"read from the log: {read}", *diagnosis.notes))
    if as_json:
        say(to_json(diagnosis, trace=str(log)))
    else:
        print_verdict(diagnosis, file=sys.stdout)
        say("\nNot checked, for a log of losses does not hold it:")
        for line in UNCHECKED:
            say(f"  {line}")
    return EXIT_EXPLAINED if diagnosis.outcome in ("failed", "uncertain") else EXIT_HEALTHY
