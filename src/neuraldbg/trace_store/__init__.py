"""The trace file: one SQLite file per run, written while it trains, read on any machine, without torch."""

from neuraldbg.trace_store.location import list_traces, new_trace_path, trace_folder
from neuraldbg.trace_store.reader import (
    read_diagnosis,
    read_trace,
    read_verifications,
    summary,
    write_diagnosis,
    write_verification,
)
from neuraldbg.trace_store.writer import TraceWriter

__all__ = [
    "TraceWriter",
    "list_traces",
    "new_trace_path",
    "read_diagnosis",
    "read_trace",
    "read_verifications",
    "summary",
    "trace_folder",
    "write_diagnosis",
    "write_verification",
]
