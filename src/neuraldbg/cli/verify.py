"""``neuraldbg verify``: train again without what is blamed, and see whether the failure goes away."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuraldbg.cli._experiment import Options, Subject, on_a_bar, put_to_test, record_once, subject_of_trace
from neuraldbg.cli._say import complain, say
from neuraldbg.cli.run import COMMAND_CLASS as _LEAVES_OPTIONS_TO_THE_SCRIPT
from neuraldbg.errors import UsageError

if TYPE_CHECKING:
    from neuraldbg.records import Diagnosis, Trace, Verification

#: Options before the script are ours, those after it are the script's.
COMMAND_CLASS = _LEAVES_OPTIONS_TO_THE_SCRIPT
EXIT_CONFIRMED = 0
EXIT_UNDECIDED = 1


def command(
    what: Annotated[list[str] | None, typer.Argument(metavar="SCRIPT [ARGS]|TRACE", show_default=False)] = None,
    module: Annotated[str | None, typer.Option("-m", metavar="MODULE", help="A module, as python -m runs it.")] = None,
    top: Annotated[int, typer.Option("--top", help="Hypotheses that are tried.")] = 3,
    seeds: Annotated[int, typer.Option("--seeds", help="Runs per hypothesis, each beside one without a change.")] = 3,
    steps: Annotated[
        int | None, typer.Option("--steps", help="Steps per run.", show_default="a little past the onset")
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="INTERVENTION", help="Try this one.", show_default=False)
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", help="Runs side by side.", show_default="half of the processors")
    ] = None,
    engine: Annotated[str, typer.Option("--engine", metavar="local|ray", help="Where runs are carried out.")] = "local",
    limit: Annotated[float, typer.Option("--time-limit", help="Seconds per run.")] = 300.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    fix: Annotated[
        bool, typer.Option("--fix-preview", help="Show the smallest change of the code; edits nothing.")
    ] = False,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Write the HTML report with its result.", show_default=False),
    ] = None,
) -> int:
    """Prove a verdict: train again without what it blames.

    The script is run once to see what fails (a trace says that already). Then each of the top hypotheses is put to the
    test: the script is run again with the one thing changed that the hypothesis blames, beside runs without a change,
    with several seeds. Nothing is edited; each run works in a copy of the folder. The result is kept in the trace,
    where one was named, and shown by explain and report from then on.

    Options of this command stand before the script; what follows it belongs to the script. The exit code is 0 when a
    cause was confirmed, 1 when none was, 2 for a mistake.

    \b
    Examples:
      neuraldbg verify train.py --lr 0.1
      neuraldbg verify --only clip_gradients --seeds 5 train.py
      neuraldbg verify --engine ray --seeds 10 train.py
      neuraldbg verify .neuraldbg/train-20250131-142501-4711.ndbg --report run.html
    """
    from neuraldbg.verify import _engine

    _engine.engine(engine)
    subject = _subject(list(what or ()), module)
    if only is not None:
        from neuraldbg.verify.interventions import get

        get(only)
    with tempfile.TemporaryDirectory(prefix="neuraldbg-trace-") as scratch:
        diagnosis, trace = _first_run(subject, Path(scratch), limit)
    if not diagnosis.hypotheses and only is None:
        say(_as_json(diagnosis, None) if as_json else diagnosis.summary)
        if not as_json:
            say("There is nothing to verify.")
        return EXIT_UNDECIDED
    with on_a_bar() as progress:
        result = put_to_test(subject, diagnosis, Options(top, seeds, steps, only, jobs, limit, engine), progress)
    if report is not None:
        from neuraldbg.cli.report import write
        from neuraldbg.report.html import render_html

        proved = replace(diagnosis, verifications=(result, *diagnosis.verifications))
        write(Path(report), render_html(proved, trace))
    if as_json:
        say(_as_json(diagnosis, result))
    else:
        from neuraldbg.cli._verify_table import print_table

        print_table(diagnosis, result, fix)
    if result.interrupted:
        complain(f"interrupted after {result.runs} runs; what was done is above")
        return 130
    return EXIT_CONFIRMED if result.confirmed else EXIT_UNDECIDED


def _subject(rest: list[str], module: str | None) -> Subject:
    if module is not None:
        return Subject(None, module, tuple(rest), Path.cwd())
    if not rest:
        raise UsageError("expected a script or a trace, found neither; name one: neuraldbg verify train.py")
    if not Path(rest[0]).exists():
        raise UsageError(
            f"expected a script or a trace, found no file {rest[0]!r}; name one: neuraldbg verify train.py"
        )
    if rest[0].endswith(".ndbg"):
        return subject_of_trace(Path(rest[0]))
    return Subject(rest[0], None, tuple(rest[1:]), Path.cwd())


def _first_run(subject: Subject, scratch: Path, limit: float) -> tuple[Diagnosis, Trace]:
    """What the trace says, or a first run of the script."""
    from rich.console import Console

    from neuraldbg.cli._verdict import judge

    if subject.trace is not None:
        return judge(subject.trace)
    console = Console(stderr=True, quiet=not sys.stderr.isatty())
    with console.status("running it once, to see what fails"):
        return judge(record_once(subject, scratch / "first.ndbg", limit))


def _as_json(diagnosis: Diagnosis, result: Verification | None) -> str:
    import json
    import math
    from dataclasses import asdict

    def plain(value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value

    data: dict[str, Any] = {"outcome": diagnosis.outcome, "summary": diagnosis.summary, "verification": None}
    if result is not None:
        data["verification"] = plain(asdict(result))
    return json.dumps(data, indent=2)
