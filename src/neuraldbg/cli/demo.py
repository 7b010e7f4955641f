"""``neuraldbg demo``: watch a small network fail, and read why."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Annotated

import typer

from neuraldbg.cli import demos
from neuraldbg.cli._say import error_stream, say
from neuraldbg.errors import UsageError

#: Shown when no name is given: what fails is not where the cause lies.
DEFAULT = "dead_neurons"


def names() -> list[str]:
    """The demos, sorted; each is a file of ``demos/``."""
    return sorted(module.name for module in pkgutil.iter_modules(demos.__path__) if not module.name.startswith("_"))


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", show_default=False, help=f"One of {', '.join(names())}.")
    ] = None,
) -> int:
    """Train a small network that fails, and explain it.

    \b
    Examples:
      neuraldbg demo
      neuraldbg demo vanishing_gradients
    """
    chosen = DEFAULT if name is None else name.replace("-", "_")
    if chosen not in names():
        raise UsageError(f"there is no demo {chosen!r}; choose one of {', '.join(names())}")
    demo = importlib.import_module(f"{demos.__name__}.{chosen}")
    try:
        import torch  # noqa: F401 - only to say it plainly where it is missing
    except ImportError as error:
        raise UsageError(f"the demos train, which needs torch ({error}); install it: pip install torch") from error
    from neuraldbg.cli._verdict import keep, shown_path
    from neuraldbg.report import print_verdict

    debugger = demo.train(_steps(demo, chosen))
    diagnosis = debugger.diagnosis()
    print_verdict(diagnosis)
    say(f"\nPlanted: {demo.PLANTED}")
    if debugger.path:
        keep(debugger.path, diagnosis)
        path = shown_path(str(debugger.path))
        say(f"Trace:   {path}\nMore:    neuraldbg explain {path} --verbose")
    return 0


def _steps(demo: ModuleType, name: str) -> Iterator[int]:
    """Counts the steps of a demo behind a progress bar on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=error_stream())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"Training {name}", total=demo.STEPS)
        for step in range(demo.STEPS):
            yield step
            progress.advance(task)
