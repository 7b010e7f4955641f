"""Numbers that lie on a device are read later, together, and belong to the step that they were measured in.

No machine with a GPU runs these tests: tensors of the CPU are treated as ones that would make the loop wait.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import nn

from neuraldbg import NeuralDbg
from neuraldbg.observe import pending as module
from neuraldbg.observe.pending import HELD_STEPS, Pending
from neuraldbg.trace_store.reader import read_trace

Row = tuple[str, int, tuple[int, ...], tuple[float, ...]]


class Rows:
    """What a writer would get."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def observe(self, quantity: str, step: int, places: Sequence[int], values: Sequence[float]) -> None:
        self.rows.append((quantity, step, tuple(places), tuple(values)))


def _fill(pending: Pending, steps: int) -> None:
    for step in range(steps):
        pending.add("a", 1, torch.tensor(float(step)))
        pending.add("b", 2, 0.5)
        pending.add("a", 1, torch.tensor(-1.0))
        pending.add_all("c", [3, 4], torch.tensor([10.0 + step, float("nan")]))
        pending.write(step)


def test_deferred_numbers_are_those_that_are_read_at_once() -> None:
    now, later = Rows(), Rows()
    _fill(Pending(now), 2 * HELD_STEPS + 5)  # type: ignore[arg-type]
    deferred = Pending(later)  # type: ignore[arg-type]
    deferred.waits = lambda tensor: True
    _fill(deferred, 2 * HELD_STEPS + 5)
    assert len(later.rows) < len(now.rows)
    deferred.flush()
    assert later.rows == now.rows
    assert ("c", 3, (3, 4), (13.0, math.inf)) in now.rows
    assert ("a", 3, (1,), (-1.0,)) in now.rows


def test_a_loss_that_is_read_late_is_named_with_its_own_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_on_device", lambda tensor: True)

    class Elsewhere(torch.Tensor):
        """A loss that says it is not on the CPU."""

        is_cpu = property(lambda self: False)  # type: ignore[assignment]

    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    path = tmp_path / "a.ndbg"
    with NeuralDbg(model, path=path, allowance=0.0):
        for step in range(60):
            optimizer.zero_grad()
            loss = model(torch.randn(4, 3)).square().mean() * (math.inf if step == 40 else 1.0)
            loss.as_subclass(Elsewhere).backward()
            optimizer.step()
    trace = read_trace(path)
    (fact,) = trace.facts("nonfinite.loss")
    assert fact.step == 40 and fact.data["late"]
    assert list(trace.series("loss.value").steps) == list(range(60))
