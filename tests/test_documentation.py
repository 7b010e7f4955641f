"""The documentation builds strictly, has a page for every rule, and its examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEADINGS = {
    "causes": ["Mechanism", "What you would see", "What rules it out", "How it is verified", "Remedy"],
    "detectors": ["What it detects", "Why it matters", "Evidence", "When it is wrong", "References"],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("material", reason="mkdocs-material is not installed: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.parametrize("kind", sorted(HEADINGS))
def test_every_rule_has_a_page_with_all_its_headings(site, kind):
    rules = [path.stem for path in (ROOT / "src/neuraldbg" / kind).glob("*.py") if not path.name.startswith("_")]
    assert len(rules) > 40
    for name in rules:
        page = (site / kind / name / "index.html").read_text("utf-8")
        headings = re.findall(r"<h2[^>]*>(.*?)<a", page)
        assert [heading for heading in headings if heading in HEADINGS[kind]] == HEADINGS[kind], name


def test_pages_name_no_path_of_this_machine():
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text("utf-8")
        assert str(ROOT) not in text and "/home/" not in text, page


def test_the_quickstart_runs_and_says_what_it_promises(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/quickstart.md").read_text("utf-8"), re.DOTALL)
    exec(compile(code, "quickstart.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.startswith("The learning rate is too high")
