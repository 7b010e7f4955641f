"""The tools that other programs call, through the SDK's own client."""

import asyncio
import json
import sys

import pytest

from helpers.command_line import TWICE_SOFTMAX, environment
from helpers.recorded import recorded, write

mcp = pytest.importorskip("mcp", reason="the MCP SDK is not installed (extra mcp)")


def ask(*calls):
    """The answers to tool calls, and the names of the tools."""
    from neuraldbg.cli.mcp import build_server

    async def talk():
        async with mcp.Client(build_server()) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            answers = [json.loads((await client.call_tool(name, given)).content[0].text) for name, given in calls]
            return tools, answers

    return asyncio.run(talk())


def test_traces_are_listed_explained_read_and_compared(tmp_path, monkeypatch):
    monkeypatch.setenv("NEURALDBG_DIR", str(tmp_path))
    healthy = str(write(recorded(["a", "b"], 60), tmp_path / "healthy.ndbg"))
    broken = str(write(recorded(["a", "b"], 60, broken_from=40), tmp_path / "broken.ndbg"))
    tools, answers = ask(
        ("list_traces", {}),
        ("explain", {"trace": broken}),
        ("explain", {"trace": broken, "full": True}),
        ("series", {"trace": broken}),
        ("series", {"trace": broken, "quantity": "module.output_gradient_norm", "place": "b"}),
        ("compare", {"first": healthy, "second": broken}),
        ("series", {"trace": broken, "quantity": "nothing"}),
        ("explain", {"trace": "missing.ndbg"}),
    )
    listed, short, full, names, points, parted, unknown, missing = answers
    assert set(tools) == {"list_traces", "explain", "series", "compare", "verify"}
    assert all(tool.description for tool in tools.values())
    assert {name for name, tool in tools.items() if tool.annotations.read_only_hint} == set(tools) - {"verify"}
    assert {row["trace"] for row in listed["traces"]} == {healthy, broken}
    assert short["outcome"] == full["outcome"] and short["schema_version"] == 1 and short["text"]
    assert "findings" in full and "findings" not in short
    assert names["quantities"]["loss.value"] == 1
    assert points["points"][0][0] == 0 and points["points"][-1] == [59, "inf"] and points["places"] == ["a", "b"]
    assert parted["parted"][0]["step"] == 40
    assert "expected a quantity" in unknown["error"] and "found no file" in missing["error"]


def test_verify_trains_again_and_says_what_became_of_the_cause(box):
    """Over standard input and output, in a process of its own: nothing of the runs may get into the protocol."""
    box.write("train.py", TWICE_SOFTMAX)
    assert box.neuraldbg("run", "train.py", "60").returncode == 0
    (trace,) = box.traces()
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "neuraldbg", "mcp"], env=environment(), cwd=str(box.folder)
    )
    progress = []

    async def note(done, expected, message):
        progress.append((done, expected, message))

    async def talk():
        async with mcp.Client(server, read_timeout_seconds=500) as client:
            given = {"top": 1, "seeds": 2, "steps": 60}
            answer = await client.call_tool("verify", given, progress_callback=note)
            explained = await client.call_tool("explain", {"full": True})
            return [json.loads(each.content[0].text) for each in (answer, explained)]

    answer, explained = asyncio.run(talk())
    (verdict,) = answer["verification"]["verdicts"]
    assert answer["trace"] == str(trace) and verdict["cause"] == "redundant_softmax"
    assert verdict["verdict"] == "confirmed" and verdict["effect"] > 0.4 and verdict["fix"]
    # It is kept with the trace, and what is asked afterwards knows of it.
    assert explained["verifications"] == [answer["verification"]]
    assert progress[-1][0] == progress[-1][1] == answer["verification"]["runs"] == len(progress)
    assert (box.folder / "train.py").read_text() == TWICE_SOFTMAX


def test_verify_runs_no_script_from_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    script = tmp_path / "theirs" / "train.py"
    script.write_text("open('ran', 'w')")
    trace = recorded(["a", "b"], 60, broken_from=40)
    trace.meta.update({"script": str(script), "folder": str(script.parent), "arguments": []})
    path = write(trace, tmp_path / "ours" / "run.ndbg")
    monkeypatch.chdir(tmp_path / "ours")
    _, (answer, missing, mistake) = ask(
        ("verify", {"trace": str(path), "only": "clip_gradients"}),
        ("verify", {"trace": "missing.ndbg"}),
        ("verify", {"trace": str(path), "only": "pray"}),
    )
    assert "expected a run of a script below" in answer["error"] and not (script.parent / "ran").exists()
    assert "found no file" in missing["error"] and "pray" in mistake["error"]
