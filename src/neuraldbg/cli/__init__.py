"""The command line: one verb per file of this folder, found by scanning it.

A verb is a module whose name is the verb, with a function ``command``: its parameters are the options, its docstring is
the help. It returns its exit code (None is 0), or a ``Launch`` that is carried out once the command line is out of the
way. A ``COMMAND_CLASS`` in it replaces typer's.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence

import typer
from typer.main import get_command

from neuraldbg.cli._launch import Launch
from neuraldbg.cli._say import complain
from neuraldbg.errors import NeuralDbgError

#: A mistake on the command line, or a file that cannot be read.
EXIT_MISTAKE = 2
#: click's UsageError, which typer does not export, and which newer versions of typer carry inside.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


def verbs() -> list[str]:
    """The names of all verbs, sorted."""
    found = pkgutil.iter_modules(__path__)
    return sorted(module.name for module in found if not module.ispkg and not module.name.startswith("_"))


def build() -> typer.Typer:
    """The command with all its verbs."""
    app = typer.Typer(
        help="Says why a PyTorch training run failed: the cause, the place, the step, and what to do.",
        epilog="Start with:  neuraldbg run train.py",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=False)
    def options(
        version: bool = typer.Option(
            False, "--version", help="Print the version and stop.", callback=_version, is_eager=True
        ),
    ) -> None:
        pass

    for verb in verbs():
        module = importlib.import_module(f"{__name__}.{verb}")
        app.command(verb, cls=getattr(module, "COMMAND_CLASS", None))(module.command)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Carries out one command and returns the exit code; mistakes are one line on standard error."""
    # Not list(): importing the verb of that name binds it in this module.
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    try:
        outcome = get_command(build()).main(args=given, prog_name="neuraldbg", standalone_mode=False)
        sys.stdout.flush()
    except NeuralDbgError as error:
        complain(str(error))
        return EXIT_MISTAKE
    except (typer.Abort, KeyboardInterrupt):
        complain("interrupted")
        return 130
    except BrokenPipeError:
        # The reader (``| head``) has gone. Python would complain again when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit:
        # click ends the program with 1 when the reader has gone, and leaves this mark.
        if type(sys.stdout).__name__ != "PacifyFlushWrapper":
            raise
        return 0
    except _USAGE_ERROR as error:
        return _usage(error)
    if isinstance(outcome, Launch):
        # Outside all of the above: nothing of the command line stands between the script and the interpreter.
        return outcome.carry_out()
    return outcome if isinstance(outcome, int) else 0


def _usage(error: BaseException) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stdout.write(str(error).rstrip() + "\n")
        return 0
    path = getattr(context, "command_path", "neuraldbg")
    message = str(error.format_message()) if hasattr(error, "format_message") else str(error)
    complain(f"{message.rstrip('.')}; see {path} --help")
    return EXIT_MISTAKE


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            sys.stdout.write(f"neuraldbg {version('neuraldbg')}\n")
        except PackageNotFoundError:
            sys.stdout.write("neuraldbg, not installed: run from its source\n")
        raise typer.Exit(0)
