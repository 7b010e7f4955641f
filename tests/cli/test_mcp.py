"""The tools that other programs call, through the SDK's own client."""

import asyncio
import json

import pytest

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
    assert set(tools) == {"list_traces", "explain", "series", "compare"}
    assert all(tool.description for tool in tools.values())
    assert {row["trace"] for row in listed["traces"]} == {healthy, broken}
    assert short["outcome"] == full["outcome"] and short["schema_version"] == 1 and short["text"]
    assert "findings" in full and "findings" not in short
    assert names["quantities"]["loss.value"] == 1
    assert points["points"][0][0] == 0 and points["points"][-1] == [59, "inf"] and points["places"] == ["a", "b"]
    assert parted["parted"][0]["step"] == 40
    assert "expected a quantity" in unknown["error"] and "found no file" in missing["error"]
