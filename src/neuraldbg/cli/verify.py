"""``neuraldbg verify``: train again without what is blamed, and see whether the failure goes away."""

from __future__ import annotations

import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuraldbg.cli._say import complain, say
from neuraldbg.cli.run import COMMAND_CLASS as _LEAVES_OPTIONS_TO_THE_SCRIPT
from neuraldbg.errors import UsageError

if TYPE_CHECKING:
    from neuraldbg.records import Diagnosis
    from neuraldbg.records.verdict import Verification

#: Options before the script are ours, those after it are the script's.
COMMAND_CLASS = _LEAVES_OPTIONS_TO_THE_SCRIPT
EXIT_CONFIRMED = 0
EXIT_UNDECIDED = 1


@dataclass(frozen=True)
class _Subject:
    """What is trained again."""

    script: str | None
    module: str | None
    arguments: tuple[str, ...]
    #: Working folder of the run.
    folder: Path
    #: Trace that is known already, or None.
    trace: Path | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """What the process that trains is told."""
        script = self.script
        if script is not None:
            # Below the folder it is the copy's that runs, so that files beside the script are the copy's, too.
            path = Path(script) if Path(script).is_absolute() else self.folder / script
            with suppress(ValueError):
                script = str(path.resolve().relative_to(self.folder.resolve()))
        return {"script": script, "module": self.module, "arguments": list(self.arguments), "shown": self.script}


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
    limit: Annotated[float, typer.Option("--time-limit", help="Seconds per run.")] = 300.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    fix: Annotated[
        bool, typer.Option("--fix-preview", help="Show the smallest change of the code; edits nothing.")
    ] = False,
) -> int:
    """Prove a verdict: train again without what it blames.

    The script is run once to see what fails (a trace says that already). Then each of the top hypotheses is put to the
    test: the script is run again with the one thing changed that the hypothesis blames, beside runs without a change,
    with several seeds. Nothing is edited; each run works in a copy of the folder.

    Options of this command stand before the script; what follows it belongs to the script. The exit code is 0 when a
    cause was confirmed, 1 when none was, 2 for a mistake.

    \b
    Examples:
      neuraldbg verify train.py --lr 0.1
      neuraldbg verify --only clip_gradients --seeds 5 train.py
      neuraldbg verify .neuraldbg/train-20250131-142501-4711.ndbg
    """
    subject = _subject(list(what or ()), module)
    if only is not None:
        from neuraldbg.verify.interventions import get

        get(only)
    with tempfile.TemporaryDirectory(prefix="neuraldbg-trace-") as scratch:
        diagnosis = _diagnosis(subject, Path(scratch), limit)
        if not diagnosis.hypotheses and only is None:
            say(_as_json(diagnosis, None) if as_json else diagnosis.summary)
            if not as_json:
                say("There is nothing to verify.")
            return EXIT_UNDECIDED
        result = _verify(subject, diagnosis, top, seeds, steps, only, limit, jobs)
    if as_json:
        say(_as_json(diagnosis, result))
    else:
        from neuraldbg.cli._verify_table import print_table

        print_table(diagnosis, result, fix)
    if result.interrupted:
        complain(f"interrupted after {result.runs} runs; what was done is above")
        return 130
    return EXIT_CONFIRMED if result.confirmed else EXIT_UNDECIDED


def _subject(rest: list[str], module: str | None) -> _Subject:
    if module is not None:
        return _Subject(None, module, tuple(rest), Path.cwd())
    if not rest:
        raise UsageError("expected a script or a trace, found neither; name one: neuraldbg verify train.py")
    if not Path(rest[0]).exists():
        raise UsageError(
            f"expected a script or a trace, found no file {rest[0]!r}; name one: neuraldbg verify train.py"
        )
    if not rest[0].endswith(".ndbg"):
        return _Subject(rest[0], None, tuple(rest[1:]), Path.cwd())
    from neuraldbg.trace_store.reader import summary

    meta = summary(Path(rest[0]))
    folder, script = Path(str(meta.get("folder", "."))), str(meta.get("script", ""))
    path = Path(script) if Path(script).is_absolute() else folder / script
    if not folder.is_dir() or not path.is_file():
        raise UsageError(
            f"expected the script of {rest[0]!r} where it ran, found no file {str(path)!r}; "
            "name the script: neuraldbg verify train.py"
        )
    return _Subject(script, None, tuple(map(str, meta.get("arguments", ()))), folder, Path(rest[0]))


def _command() -> list[str]:
    return [sys.executable, "-m", "neuraldbg.cli._replay"]


def _diagnosis(subject: _Subject, scratch: Path, limit: float) -> Diagnosis:
    """What the trace says, or a first run of the script."""
    from neuraldbg.cli._verdict import judge

    if subject.trace is not None:
        return judge(subject.trace)[0]
    from neuraldbg.verify._engine import carry_out_all, in_processes
    from neuraldbg.verify._replay import Plan

    trace = scratch / "first.ndbg"
    start = in_processes(subject.folder, _command(), {**subject.data(), "trace": str(trace)})
    with _status("running it once, to see what fails"):
        (replay,) = carry_out_all(
            [Plan(None, steps=10**9, limit=max(limit, 3600.0))], start, 1, lambda plan, done: None
        )
    if not trace.exists():
        reason = replay.error if replay is not None else "it was stopped"
        raise UsageError(f"expected a script that trains, found one that ended before torch was imported ({reason})")
    return judge(trace)[0]


def _verify(
    subject: _Subject,
    diagnosis: Diagnosis,
    top: int,
    seeds: int,
    steps: int | None,
    only: str | None,
    limit: float,
    jobs: int | None,
) -> Verification:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from neuraldbg.verify._engine import in_processes
    from neuraldbg.verify._experiment import experiment

    symptom = diagnosis.symptom
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs, time left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as bar:
        task = bar.add_task("running again", total=None)

        def progress(done: int, expected: int, name: str) -> None:
            bar.update(task, completed=done, total=expected, description=name)

        return experiment(
            in_processes(subject.folder, _command(), subject.data()),
            diagnosis.hypotheses or diagnosis.candidates,
            symptom=symptom.kind if symptom else "",
            onset=symptom.step if symptom else 0,
            seen=diagnosis.steps,
            top=top,
            seeds=seeds,
            steps=steps,
            only=only,
            limit=limit,
            jobs=jobs,
            progress=progress,
        )


def _status(text: str) -> Any:
    from rich.console import Console

    return Console(stderr=True, quiet=not sys.stderr.isatty()).status(text)


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
