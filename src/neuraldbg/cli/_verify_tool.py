"""The tool ``verify`` of ``neuraldbg mcp``: the only one that runs anything. Imported where the SDK is there."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import anyio
from mcp.server.mcpserver import Context
from mcp.types import ToolAnnotations

from neuraldbg.cli._experiment import Options, Progress, Subject, put_to_test, subject_of_trace
from neuraldbg.errors import NeuralDbgError, UsageError

#: What a client may tell its user: it runs the user's script, and changes nothing but the trace.
ANNOTATIONS = ToolAnnotations(
    title="Prove a cause by training again",
    read_only_hint=False,
    destructive_hint=False,
    idempotent_hint=False,
    open_world_hint=False,
)


async def verify(
    trace: str = "",
    top: int = 3,
    seeds: int = 3,
    steps: int = 0,
    only: str = "",
    seconds_per_run: float = 300.0,
    context: Context | None = None,
) -> str:
    """Prove or refute the causes of a run: train its script again without what each blames, beside unchanged runs.

    Runs the script of the trace about 2 x top x seeds times, in copies of its folder; nothing of the user's is edited.
    Gives for each cause the verdict confirmed, refuted or inconclusive, the effect (share of the remaining loss that
    taking the cause away removes: 1 all, 0 none) with its 95 % interval, and the smallest change of the code.

    Args:
        trace: path of a trace whose script lies below the working folder of this server; the newest one when empty.
        top: causes that are tried, the most probable first.
        seeds: pairs of runs per cause; one pair confirms nothing.
        steps: steps per run; 0 is a little past the onset.
        only: name of one intervention to try alone.
        seconds_per_run: a run that takes longer counts as hung.
    """
    given_up = threading.Event()

    def work() -> str:
        try:
            return _verified(trace, Options(top, seeds, steps or None, only or None, None, seconds_per_run), report)
        except NeuralDbgError as error:
            return json.dumps({"error": str(error)})

    def report(done: int, expected: int, name: str) -> None:
        if given_up.is_set():
            raise KeyboardInterrupt  # nobody waits for it: the runs that go on are ended
        if context is not None:
            anyio.from_thread.run(context.report_progress, done, expected, name)

    try:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    finally:
        given_up.set()


def _verified(trace: str, options: Options, report: Progress) -> str:
    from neuraldbg.cli._verdict import chosen_trace, judge
    from neuraldbg.report.json import as_dict
    from neuraldbg.verify.interventions import get

    if options.only is not None:
        get(options.only)  # a name that is unknown is said before anything else
    path = chosen_trace(trace or None)
    diagnosis, _ = judge(path)
    if not diagnosis.hypotheses and options.only is None:
        return json.dumps({"summary": diagnosis.summary, "verification": None})
    subject = subject_of_trace(path)
    _check_place(subject)
    result = put_to_test(subject, diagnosis, options, report)
    (verification,) = as_dict(replace(diagnosis, verifications=(result,)))["verifications"]
    return json.dumps({"trace": str(path), "summary": diagnosis.summary, "verification": verification})


def _check_place(subject: Subject) -> None:
    """A trace names the script that is run: one from elsewhere must not choose what a server runs."""
    here = Path.cwd().resolve()
    script = (subject.folder / str(subject.script)).resolve()
    for path in (subject.folder.resolve(), script):
        if not path.is_relative_to(here):
            raise UsageError(
                f"expected a run of a script below {str(here)!r}, found {str(path)!r}; "
                "start the server in the folder of that run"
            )
