"""The script that puts a bench's table into a page."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "write_tables.py"


def script():
    spec = importlib.util.spec_from_file_location("write_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_only_what_is_between_the_marks_is_replaced():
    filled = script().filled
    page = "# Page\n\n<!-- table -->\nold\n<!-- end of table -->\n\nafter\n"
    once = filled(page, "# Bench\n\n| a |\n| --- |\n")
    assert once == "# Page\n\n<!-- table -->\n\n### Bench\n\n| a |\n| --- |\n\n<!-- end of table -->\n\nafter\n"
    assert filled(once, "# Bench\n\n| a |\n| --- |\n") == once


def test_what_is_no_table_is_refused(tmp_path):
    with pytest.raises(ValueError, match="found no row"):
        script().filled("<!-- table --><!-- end of table -->", "Traceback: no results")
    (tmp_path / "empty.md").write_text("No results yet.\n")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "accuracy", str(tmp_path / "empty.md")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "expected a table" in done.stderr


def test_every_page_that_tells_of_a_table_can_take_one():
    for name in ("accuracy", "comparison"):
        text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
        assert "new row" in script().filled(text, "| new row |\n")
