"""``neuraldbg mcp``: the traces of this folder as tools of the Model Context Protocol, on standard input and output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from neuraldbg.errors import NeuralDbgError, UsageError

#: Points that one answer holds of a series.
MOST_POINTS = 200


def command() -> int:
    """Serve the traces of this folder to programs that speak the Model Context Protocol.

    Tools: list_traces, explain, series, compare; and verify, which runs the script of a trace again, in a copy of its
    folder, and only a script below the folder that the server was started in. It needs `neuraldbg[mcp]` and speaks on
    standard input and output.

    \b
    Example:
      neuraldbg mcp
    """
    build_server().run()
    return 0


def build_server() -> Any:
    """The server with its tools; raises UsageError where the SDK is not installed."""
    try:
        from mcp.server import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError as error:
        raise UsageError("this needs the MCP SDK, which is not installed: pip install 'neuraldbg[mcp]'") from error
    server = MCPServer("neuraldbg", instructions="Says why PyTorch training runs failed, from their recorded traces.")
    for tool in (list_traces, explain, series, compare):
        server.tool(annotations=ToolAnnotations(read_only_hint=True))(_plain_errors(tool))
    from neuraldbg.cli import _verify_tool

    server.tool(annotations=_verify_tool.ANNOTATIONS)(_verify_tool.verify)
    return server


def _plain_errors(tool: Any) -> Any:
    """A mistake is an answer in words, as on the command line."""
    from functools import wraps

    @wraps(tool)
    def answer(*arguments: Any, **named: Any) -> str:
        try:
            return str(tool(*arguments, **named))
        except NeuralDbgError as error:
            return json.dumps({"error": str(error)})

    return answer


def list_traces() -> str:
    """The traces of the working folder, newest first: path, script, steps, verdict."""
    from neuraldbg.cli.list import describe
    from neuraldbg.trace_store.location import list_traces as found

    rows = []
    for path in found():
        script, steps, verdict = describe(path)
        rows.append({"trace": str(path), "script": script, "steps": steps, "verdict": verdict})
    return json.dumps({"traces": rows})


def explain(trace: str = "", full: bool = False) -> str:
    """Why the run failed: outcome, ranked causes with evidence, place, step and remedy.

    Args:
        trace: path of a trace; the newest one when empty.
        full: the whole diagnosis with all findings and events, in the schema of `neuraldbg explain --json`.
    """
    from neuraldbg.cli._verdict import judge
    from neuraldbg.report import render
    from neuraldbg.report.json import as_dict

    path = _trace(trace)
    diagnosis, _ = judge(path)
    whole = as_dict(diagnosis, trace=str(path))
    if full:
        return json.dumps(whole)
    kept = {
        name: whole[name] for name in ("schema_version", "trace", "outcome", "summary", "steps", "symptom", "decides")
    }
    kept["hypotheses"] = [
        {name: value for name, value in hypothesis.items() if name != "evidence"} for hypothesis in whole["hypotheses"]
    ]
    return json.dumps({**kept, "text": render(diagnosis)})


def series(trace: str = "", quantity: str = "", place: str = "") -> str:
    """Numbers of the run over its steps, thinned to at most 200 points; without a quantity the names of all.

    Args:
        trace: path of a trace; the newest one when empty.
        quantity: a dotted name, loss.value for instance.
        place: a module, parameter or other place; the first one when empty.
    """
    from neuraldbg.report.html.curves import thinned
    from neuraldbg.trace_store.reader import read_trace

    recorded = read_trace(_trace(trace))
    if not quantity:
        return json.dumps({"quantities": {name: len(recorded.series(name).places) for name in recorded.quantities}})
    found = recorded.series(quantity)
    if not found:
        raise UsageError(
            f"expected a quantity of this trace, found {quantity!r}; call series without one for the names"
        )
    if place and place not in found.names:
        some = ", ".join(found.names[:20])
        raise UsageError(f"{quantity} was not measured at {place!r}; it was at {some}")
    chosen = place or found.names[0]
    steps, values = thinned(*found.column(chosen), MOST_POINTS)
    points = [[int(step), _plain(float(value))] for step, value in zip(steps, values)]
    return json.dumps({"quantity": quantity, "place": chosen, "places": list(found.names[:100]), "points": points})


def compare(first: str, second: str) -> str:
    """Where two runs part, what is set differently, which events are in one only.

    Args:
        first: path of a trace.
        second: path of another one.
    """
    from neuraldbg.cli._verdict import judge
    from neuraldbg.report.compare import compare as compared

    one, own = judge(_trace(first))
    other, their = judge(_trace(second))
    found = compared(own, their, (one, other)).as_dict()
    return json.dumps({"first": one.summary, "second": other.summary, **found})


def _trace(given: str) -> Path:
    from neuraldbg.cli._verdict import chosen_trace

    return chosen_trace(given or None)


def _plain(value: float) -> float | str:
    import math

    return value if math.isfinite(value) else str(value)
