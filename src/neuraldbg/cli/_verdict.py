"""From a trace file to its verdict; needs no torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuraldbg.errors import TraceError, UsageError

if TYPE_CHECKING:
    from neuraldbg.records import Diagnosis, Trace

#: Quantities that are drawn as small curves: name in the trace → label.
CURVES: Mapping[str, str] = {
    "loss.value": "loss",
    "evaluation.loss": "validation loss",
    "optimizer.learning_rate": "learning rate",
}


def judge(path: Path) -> tuple[Diagnosis, Trace]:
    """Reads a trace and diagnoses it, with the experiments kept in it; raises TraceError where it cannot be read."""
    from dataclasses import replace

    from neuraldbg.pipeline import diagnose
    from neuraldbg.trace_store.reader import read_trace, read_verifications

    trace = read_trace(path)
    return replace(diagnose(trace), verifications=read_verifications(path)), trace


def chosen_trace(given: str | None) -> Path:
    """The trace that was named, by its path or by how its file name begins, or the newest of this folder.

    Raises:
        UsageError: there is none.
    """
    from neuraldbg.trace_store.location import list_traces, trace_folder, trace_named

    if given is not None:
        path = Path(given) if Path(given).exists() else trace_named(given)
        if path is None:
            raise UsageError(
                f"expected a trace, found no file {given!r} and no trace whose name begins so; "
                "`neuraldbg list` shows those of this folder"
            )
        return path
    traces = list_traces()
    if not traces:
        raise UsageError(f"found no trace in {str(trace_folder())!r}; make one: neuraldbg run train.py")
    return traces[0]


def keep(path: Path, diagnosis: Diagnosis) -> None:
    """Keeps the verdict with the trace, for ``neuraldbg list``; a trace that cannot be written is left as it is."""
    from neuraldbg.trace_store.reader import write_diagnosis

    with suppress(TraceError):
        write_diagnosis(path, diagnosis)


def curves(trace: Trace) -> dict[str, list[float]]:
    """The series that a verbose verdict draws, by their labels."""
    drawn = {}
    for quantity, label in CURVES.items():
        _, values = trace.scalar(quantity)
        if len(values) > 1:
            drawn[label] = [float(value) for value in values]
    return drawn


def is_running(meta: Mapping[str, Any]) -> bool:
    """Whether the process that writes the trace seems to be alive still, on this machine."""
    process = meta.get("pid")
    if meta.get("finished") is not None or not isinstance(process, int) or process <= 0:
        return False
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def shown_path(path: str) -> str:
    """The path relative to the working folder where it lies below it."""
    with suppress(OSError, ValueError):
        relative = os.path.relpath(path)
        return path if relative.startswith("..") else relative
    return path
