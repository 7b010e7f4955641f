"""``neuraldbg run``: a script as it is, watched."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from neuraldbg.cli._launch import Launch
from neuraldbg.cli._program import Program
from neuraldbg.errors import UsageError


class COMMAND_CLASS(TyperCommand):
    """Reads options up to the script's name, or the module's, and leaves all others to the script; as python does."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with_value = {
            option
            for parameter in self.params
            if parameter.param_type_name == "option" and not getattr(parameter, "is_flag", False)
            for option in parameter.opts
        }
        position = 0
        while position < len(args) and args[position].startswith("-"):
            argument = args[position]
            if argument == "--":
                return super().parse_args(ctx, args)
            position += 2 if argument in with_value else 1
            if argument.startswith("-m"):
                break
        # An option whose value is missing gets its usual error, not the "--" as a value.
        separator = ["--"] if position <= len(args) else []
        return super().parse_args(ctx, [*args[:position], *separator, *args[position:]])


class FailOn(str, Enum):
    """What makes a run that ended well by itself fail, the strictest proof first."""

    confirmed = "confirmed"
    named = "named"
    suspected = "suspected"


def command(
    script: Annotated[list[str] | None, typer.Argument(metavar="SCRIPT [ARGS]", show_default=False)] = None,
    module: Annotated[str | None, typer.Option("-m", metavar="MODULE", help="Run a module, as python -m does.")] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the findings with their numbers too.")
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Show loss, events and suspicion below the script's output while it runs.")
    ] = False,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            "--fail-on",
            help="Exit with 3 when training failed and a cause was proved by training again (confirmed), when one "
            "cause is named (named), or also when several remain (suspected).",
            show_default=False,
        ),
    ] = None,
) -> Launch:
    """Run a training script and say why it failed.

    The script is run as it is: its arguments, exit code, exceptions and signals stay as they are with python. The
    verdict goes to standard error. With --fail-on a script that ended well exits with 3 when its training failed;
    confirmed trains again to prove the cause, as neuraldbg verify does, where there is a cause to prove. With --live
    the lowest lines of the terminal show what neuraldbg watch does; the script's streams, exit code and signals stay as
    they are.

    \b
    Examples:
      neuraldbg run train.py --lr 0.1
      neuraldbg run -m package.train --lr 0.1
      neuraldbg run --live train.py
      neuraldbg run --fail-on named train.py
    """
    rest = tuple(script or ())
    if module is None and not rest:
        raise UsageError("expected a script, found none; name one: neuraldbg run train.py")
    program = Program(None, module, rest) if module is not None else Program(rest[0], None, rest[1:])
    program.check()
    return Launch(program, verbose, live, fail_on.value if fail_on is not None else None)
