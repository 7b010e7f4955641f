"""Training a script again to test a verdict: shared by ``verify``, ``run --fail-on confirmed`` and ``mcp``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuraldbg.errors import UsageError

if TYPE_CHECKING:
    from neuraldbg.records import Diagnosis, Verification

#: Called after each run: runs done, runs expected, what was run.
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Subject:
    """What is trained again."""

    script: str | None
    module: str | None
    arguments: tuple[str, ...]
    #: Working folder of the run.
    folder: Path
    #: Trace that is known already, or None.
    trace: Path | None = None

    def data(self) -> dict[str, Any]:
        """What the process that trains is told."""
        script = self.script
        if script is not None:
            # Below the folder it is the copy's that runs, so that files beside the script are the copy's, too.
            path = Path(script) if Path(script).is_absolute() else self.folder / script
            with suppress(ValueError):
                script = str(path.resolve().relative_to(self.folder.resolve()))
        return {"script": script, "module": self.module, "arguments": list(self.arguments), "shown": self.script}


@dataclass(frozen=True)
class Options:
    """How an experiment is made; the defaults are those of ``neuraldbg verify``."""

    #: Hypotheses that are tried, the best first.
    top: int = 3
    #: Pairs of runs per hypothesis.
    seeds: int = 3
    #: Steps per run; None is a little past the onset.
    steps: int | None = None
    #: One intervention to try alone.
    only: str | None = None
    #: Runs side by side; None is half of the processors.
    jobs: int | None = None
    #: Seconds per run.
    limit: float = 300.0
    #: Where runs are carried out, one of ENGINES in verify/_engine.py.
    engine: str = "local"


def subject_of_trace(trace: Path) -> Subject:
    """The script of a trace, with the arguments and in the folder of its run.

    Raises:
        UsageError: it is not there any more.
        TraceError: the trace cannot be read.
    """
    from neuraldbg.trace_store.reader import summary

    meta = summary(trace)
    folder, script = Path(str(meta.get("folder", "."))), str(meta.get("script", ""))
    path = Path(script) if Path(script).is_absolute() else folder / script
    if not folder.is_dir() or not path.is_file():
        raise UsageError(
            f"expected the script of {str(trace)!r} where it ran, found no file {str(path)!r}; "
            "name the script: neuraldbg verify train.py"
        )
    return Subject(script, None, tuple(map(str, meta.get("arguments", ()))), folder, trace)


def record_once(subject: Subject, trace: Path, limit: float) -> Path:
    """Runs the script in a copy of its folder and records it; returns ``trace``.

    Raises:
        UsageError: it never imported torch.
    """
    from neuraldbg.verify._engine import carry_out_all, in_processes
    from neuraldbg.verify._replay import Plan

    start = in_processes(subject.folder, _command(), {**subject.data(), "trace": str(trace)})
    (replay,) = carry_out_all([Plan(None, steps=10**9, limit=max(limit, 3600.0))], start, 1, lambda plan, done: None)
    if not trace.exists():
        reason = replay.error if replay is not None else "it was stopped"
        raise UsageError(f"expected a script that trains, found one that ended before torch was imported ({reason})")
    return trace


def put_to_test(
    subject: Subject, diagnosis: Diagnosis, options: Options, progress: Progress | None = None
) -> Verification:
    """Trains again without what each hypothesis blames; the result is kept in the subject's trace, if there is one."""
    from neuraldbg.errors import TraceError
    from neuraldbg.trace_store.reader import write_verification
    from neuraldbg.verify._engine import in_processes
    from neuraldbg.verify._experiment import experiment

    symptom, jobs = diagnosis.symptom, options.jobs
    if options.engine == "ray":
        from neuraldbg.verify import _ray

        start = _ray.scripts_on_ray(subject.folder, _command(), subject.data())
        jobs = jobs or _ray.places()
    else:
        start = in_processes(subject.folder, _command(), subject.data())
    # What the recording kept beside its trace.
    folder = subject.trace.with_suffix(".snapshots") if subject.trace is not None else None
    result = experiment(
        start,
        diagnosis.hypotheses or diagnosis.candidates,
        symptom=symptom.kind if symptom else "",
        onset=symptom.step if symptom else 0,
        seen=diagnosis.steps,
        top=options.top,
        seeds=options.seeds,
        steps=options.steps,
        only=options.only,
        limit=options.limit,
        jobs=jobs,
        snapshots=sorted(folder.glob("*.safetensors")) if folder is not None else (),
        progress=progress,
    )
    if subject.trace is not None and result.verdicts:
        with suppress(TraceError):  # a trace that cannot be written is left as it is
            write_verification(subject.trace, result)
    return result


@contextmanager
def on_a_bar() -> Iterator[Progress]:
    """A progress bar on standard error; nothing where that is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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

        yield progress


def _command() -> list[str]:
    return [sys.executable, "-m", "neuraldbg.cli._replay"]
