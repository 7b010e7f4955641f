"""Detectors on what is really recorded: a failing run of each sort, and what has to be seen in it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from neuraldbg import NeuralDbg
from neuraldbg.detectors import detect_events
from neuraldbg.graph import build_graph, producers, roots
from neuraldbg.measures.run import Run
from neuraldbg.trace_store import read_trace


class Functional(nn.Module):
    """No activation is a module."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.out = nn.Linear(8, 32), nn.Linear(32, 32), nn.Linear(32, 1)

    def forward(self, values):
        return self.out(torch.relu(self.second(torch.relu(self.first(values)))))


def modules():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))


def record(path, model, change=None, rate=0.01, steps=30):
    torch.manual_seed(0)
    inputs = torch.randn(64, 8)
    targets = inputs[:, :1] - inputs[:, 1:2]
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    with NeuralDbg(model, path=path, preset="every_step"):
        for step in range(steps):
            batch = change(step, inputs) if change else inputs
            optimizer.zero_grad()
            nn.functional.mse_loss(model(batch), targets).backward()
            optimizer.step()
    run = Run(read_trace(path))
    events, notes = detect_events(run)
    assert notes == ()
    return run, events


@pytest.mark.parametrize("make", [modules, Functional])
def test_units_off_from_the_start(tmp_path, make):
    torch.manual_seed(0)
    model = make()
    first = next(model.children())
    nn.init.constant_(first.bias, -50.0)
    run, events = record(tmp_path / "run.ndbg", model)
    (dead,) = [event for event in events if event.to_state == "dead"]
    name = "0" if make is modules else "first"
    assert (dead.layer, dead.step_range[0]) == (name, 0)
    assert dead.metadata["share"] == 1.0
    graph = build_graph(events, run)
    stopped = next(event for event in events if event.to_state == "absent")
    assert name in (stopped.layer, *stopped.metadata.get("propagation", {}).get("order", ()))
    assert dead not in roots(graph)  # the bias that starts at -50 comes before it
    assert any(root.parameter == f"{name}.bias" for root in roots(graph))


@pytest.mark.parametrize("make", [modules, Functional])
def test_a_nan_in_the_data_is_the_producer_of_all_others(tmp_path, make):
    torch.manual_seed(0)

    def change(step, inputs):
        if step != 7:
            return inputs
        bad = inputs.clone()
        bad[3, 1] = float("nan")
        return bad

    run, events = record(tmp_path / "run.ndbg", make(), change)
    graph = build_graph(events, run)
    (source,) = producers(graph)
    assert (source.event_type, source.to_state, source.step_range[0]) == ("data_anomaly", "nan", 7)
    assert {"activation_regime_shift", "optimizer_instability", "gradient_health_transition"} <= {
        event.event_type for event in events if event.to_state == "non_finite"
    }


def test_a_rate_far_too_high_moves_the_weights_too_far_at_once(tmp_path):
    torch.manual_seed(0)
    _, events = record(tmp_path / "run.ndbg", modules(), rate=30.0)
    updates = [event for event in events if event.metadata.get("subject") == "the updates"]
    assert updates and updates[0].step_range[0] == 0 and updates[0].metadata["ratio"] > 1


def test_a_run_that_trains_has_no_events(tmp_path):
    torch.manual_seed(0)
    run, events = record(tmp_path / "run.ndbg", modules(), rate=0.05, steps=60)
    assert run.loss is not None and run.loss.end < 0.5 * run.loss.first
    assert [str(event) for event in events] == []
