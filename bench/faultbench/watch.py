"""Runs a spec under NeuralDbg and keeps what it says, with its findings and what the baselines would say."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import traceback
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

import neuraldbg
from bench.faultbench import baselines, runs
from neuraldbg import NeuralDbg
from neuraldbg.pipeline import diagnose
from neuraldbg.records import Diagnosis, Trace
from neuraldbg.trace_store.reader import read_trace


@cache
def version() -> str:
    """A short digest of the engine's sources, to tell results of different versions apart."""
    digest = hashlib.sha256()
    for file in sorted(Path(neuraldbg.__file__).parent.rglob("*")):
        if file.suffix in (".py", ".json", ".toml"):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def said(trace: Trace, diagnosis: Diagnosis) -> dict[str, Any]:
    """What the record keeps of a diagnosis: hypotheses shown, candidates, findings, baselines."""

    def entry(hypothesis: Any) -> dict[str, Any]:
        return {
            "cause": hypothesis.cause,
            "layer": hypothesis.layer if hypothesis.layer is not None else hypothesis.parameter,
            "step": hypothesis.step_range[0],
            "confidence": hypothesis.confidence,
        }

    return {
        "version": version(),
        "verdict": diagnosis.outcome,
        "hypotheses": [entry(hypothesis) for hypothesis in diagnosis.hypotheses[:5]],
        "candidates": [entry(hypothesis) for hypothesis in diagnosis.candidates[:5]],
        "findings": {finding.name: finding.present for finding in diagnosis.findings},
        "notes": list(diagnosis.notes),
        "baselines": {name: tool(trace) for name, tool in baselines.BASELINES.items()},
    }


def watch(spec: runs.Spec, traces: Path, keep_trace: bool) -> dict[str, Any]:
    """Carry out a spec under NeuralDbg.

    Args:
        spec: the run.
        traces: folder for the trace file.
        keep_trace: leave the trace there, so that it can be explained again later.
    """
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    path = trace_path(spec, traces)
    clear(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    opened: list[NeuralDbg] = []

    def session(model: nn.Module) -> NeuralDbg:
        opened.append(NeuralDbg(model, path=path))
        return opened[-1]

    def read() -> dict[str, Any]:
        diagnosis = opened[-1].diagnosis()
        return said(read_trace(path), diagnosis)

    start = time.perf_counter()
    try:
        record = runs.execute(spec, session, read)
    finally:
        if not keep_trace:
            clear(path)
    record["seconds"] = time.perf_counter() - start
    return record


def carry_out(spec: runs.Spec, traces: str, keep_traces: bool) -> dict[str, Any]:
    """``watch`` in a worker; an error of the bench or the engine comes back as text."""
    try:
        return watch(spec, Path(traces), keep_traces)
    except Exception:
        return {"key": spec.key, "spec": spec.__dict__, "failed": traceback.format_exc()}


def again(record: dict[str, Any], traces: Path) -> dict[str, Any]:
    """The record with a fresh explanation of the trace that was kept; unchanged where none was."""
    path = trace_path(runs.Spec(**record["spec"]), traces)
    if not path.exists():
        return record
    trace = read_trace(path)
    return {**record, **said(trace, diagnose(trace))}


def trace_path(spec: runs.Spec, traces: Path) -> Path:
    return traces / (spec.key.replace("/", "-") + ".ndbg")


def clear(path: Path) -> None:
    """Remove a trace and SQLite's files beside it."""
    for ending in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(f"{path}{ending}")
