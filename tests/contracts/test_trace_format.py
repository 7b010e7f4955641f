"""docs/trace_format.md against the code that writes traces, and against the trace of a real run."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
import torch
from torch import nn

import neuraldbg
from neuraldbg import NeuralDbg
from neuraldbg.records import PLACE_KINDS
from neuraldbg.testing import kind_of
from neuraldbg.trace_store import read_trace
from neuraldbg.trace_store.migrations import FORMAT_VERSION

PACKAGE = Path(neuraldbg.__file__).parent
PAGE = (Path(__file__).parents[2] / "docs" / "trace_format.md").read_text("utf-8")
QUANTITIES = {
    name: [kind.strip() for kind in kinds.split(",")]
    for name, kinds in re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \| ([a-z, ]+) \|[^|]*\|[^|]*\|$", PAGE, re.M)
}
FACTS = set(re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \|[^|]*\|[^|]*\|$", PAGE, re.M))
WRITERS = [
    *sorted((PACKAGE / "observe").rglob("*.py")),
    PACKAGE / "session.py",
    PACKAGE / "integrations" / "distributed.py",
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A small classifier with all that it takes: batch norm, dropout, functionals, validation, clipping."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm = nn.Linear(6, 12), nn.BatchNorm1d(12)
            self.drop, self.out = nn.Dropout(0.2), nn.Linear(12, 3)

        def forward(self, values):
            return self.out(self.drop(torch.relu(self.norm(self.first(values)))))

    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    inputs, targets = torch.randn(32, 6), torch.randint(0, 3, (32,))
    path = tmp_path_factory.mktemp("trace") / "run.ndbg"
    with NeuralDbg(model, path=path):
        for step in range(24):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            if step % 8 == 7:
                model.eval()
                with torch.no_grad():
                    nn.functional.cross_entropy(model(inputs), targets)
                model.train()
    return path


def written(pattern: str) -> set[str]:
    return {name for file in WRITERS if file.is_file() for name in re.findall(pattern, file.read_text("utf-8"))}


def test_page_lists_every_quantity_that_is_written():
    names = written(r'(?:add|observe)\(\s*"([a-z_]+\.[a-z_]+)"') | written(r'"(module\.\w*gradient_norm)"')
    names |= written(r'"(evaluation\.loss|loss\.value)"')
    assert names == set(QUANTITIES)


def test_page_lists_every_fact_that_is_written():
    names = written(r'(?:fact|note|_note)\(\s*"([a-z_]+\.[a-z_]+)"')
    assert names == FACTS


def test_page_lists_the_kinds_of_places():
    kinds = re.search(r"## Places\n(.*?)\n## ", PAGE, re.S)
    assert kinds is not None
    assert re.findall(r"^\| ([a-z]+) \|", kinds[1], re.M)[1:] == list(PLACE_KINDS)


def test_page_describes_the_tables(recorded):
    section = re.search(r"## Tables\n(.*?)\n## ", PAGE, re.S)
    assert section is not None
    described: dict[str, list[str]] = {}
    table = ""
    for name, column in re.findall(r"^\| *([a-z]*) *\| ([a-z_]+) \|", section[1], re.M)[1:]:
        table = name or table
        described.setdefault(table, []).append(column)
    with sqlite3.connect(recorded) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for name in names}
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    assert found == described
    assert version == FORMAT_VERSION and f"its format, {version} at present" in PAGE


def test_a_recorded_run_holds_only_what_the_page_lists(recorded):
    trace = read_trace(recorded)
    assert set(trace.quantities) <= set(QUANTITIES)
    assert len(trace.quantities) > 50
    for quantity in trace.quantities:
        kinds = {place.kind for place in trace.series(quantity).places}
        assert kinds <= set(QUANTITIES[quantity]), quantity
    assert {fact for fact in FACTS if trace.facts(fact)} >= {"model.flow", "model.membership", "loss.structure"}
    assert not trace.facts("observer.failure")
    listed = set(re.findall(r"`([a-z_]+)`", PAGE.rpartition("## Settings in meta")[2]))
    assert {"last_step", "counts"} <= set(trace.meta) and set(trace.meta) <= listed


def test_builders_know_the_kinds_of_the_quantities():
    assert {name: kind_of(name) for name in QUANTITIES} == {name: kinds[0] for name, kinds in QUANTITIES.items()}
