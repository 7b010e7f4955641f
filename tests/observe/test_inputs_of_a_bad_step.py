"""The inputs of the step that went wrong are looked at whatever the budget; of steps not seen nothing is claimed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from neuraldbg import NeuralDbg
from neuraldbg.records import Diagnosis, Trace
from neuraldbg.trace_store.reader import read_trace

FAILING = 100


class Two(nn.Module):
    """Reads a second input by name."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(10, 32), nn.Linear(32, 1)

    def forward(self, x: Tensor, offset: Tensor) -> Tensor:
        return self.last(torch.relu(self.first(x))) + offset  # type: ignore[no-any-return]


def _train(path: Path, *, bad_input: str | None, overwritten: bool = False) -> tuple[Diagnosis, Trace]:
    """Step FAILING has a NaN in an input, or a target whose logarithm is not finite."""
    torch.manual_seed(0)
    model = Two()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with NeuralDbg(model, path=path, budget=0.0, allowance=0.0) as debugger:
        for step in range(FAILING + 30):
            x, offset = torch.randn(16, 10), torch.zeros(16, 1)
            target = x.sin().sum(dim=1, keepdim=True)
            if step == FAILING and bad_input is not None:
                {"x": x, "offset": offset}[bad_input][7, 0] = float("nan")
            optimizer.zero_grad()
            output = model(x, offset=offset)
            if overwritten:
                offset.zero_()
            if step == FAILING and bad_input is None:
                target = torch.log(target - 100.0)
            nn.functional.mse_loss(output, target).backward()
            optimizer.step()
    return debugger.diagnosis(), read_trace(path)


@pytest.mark.parametrize("name", ["x", "offset"])
def test_a_bad_input_of_an_unobserved_step_is_named(tmp_path: Path, name: str) -> None:
    diagnosis, trace = _train(tmp_path / "a.ndbg", bad_input=name)
    steps, _ = trace.scalar("module.output_std", "last")
    assert FAILING not in steps, "the step was to be one that is not observed"
    facts = trace.facts("nonfinite.input")
    assert [(fact.step, fact.data["rows"]) for fact in facts] == [(FAILING, [7])]
    assert facts[0].place is not None and facts[0].place.name == f"[{'0' if name == 'x' else 'offset'}]"
    assert diagnosis.hypotheses[0].cause == "nan_in_input"
    assert "nan_in_input" not in " ".join(diagnosis.ruled_out)


def test_finite_inputs_of_that_step_rule_it_out(tmp_path: Path) -> None:
    diagnosis, trace = _train(tmp_path / "a.ndbg", bad_input=None)
    assert trace.facts("nonfinite.input") == ()
    assert "every input was finite" in " ".join(diagnosis.ruled_out)


def test_nothing_is_claimed_of_inputs_that_could_not_be_looked_at(tmp_path: Path) -> None:
    diagnosis, trace = _train(tmp_path / "a.ndbg", bad_input=None, overwritten=True)
    assert trace.facts("nonfinite.loss")[0].data["inputs_seen"] is False
    assert "every input was finite" not in " ".join(diagnosis.ruled_out)


def test_the_inputs_of_an_unobserved_step_whose_loss_jumps_are_measured(tmp_path: Path) -> None:
    """Whatever the first operation makes of them: here a window is flattened before any layer reads it."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    path = tmp_path / "a.ndbg"
    with NeuralDbg(model, path=path, allowance=0.01) as debugger:
        for step in range(FAILING + 100):
            window = torch.randn(16, 4, 6) * (1000 if step == FAILING else 1)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(window), torch.zeros(16, 1)).backward()
            optimizer.step()
    trace = read_trace(path)
    assert FAILING not in trace.scalar("module.output_std", "1")[0], "the step was to be one that is not observed"
    steps, largest = trace.scalar("input.absmax", "[0]")
    assert largest[steps == FAILING] > 1000
    assert debugger.diagnosis().hypotheses[0].cause == "outlier_batch"
