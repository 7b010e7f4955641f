"""Models that return several tensors: which of them is measured; a constant beside the prediction ends no signal."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from neuraldbg import NeuralDbg
from neuraldbg.trace_store import read_trace


class Gaussian(nn.Module):
    """Mean and scale, the scale first; ``form`` says how the scale comes to have the shape of the mean."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form
        self.body, self.head = nn.Linear(6, 16), nn.Linear(16, 1)
        self.log_scale = nn.Parameter(torch.zeros(1))

    def forward(self, inputs):
        mean = self.head(torch.tanh(self.body(inputs))) * 1.5
        if self.form == "expanded":
            return self.log_scale.expand_as(mean), mean
        if self.form == "computed":
            return self.log_scale + torch.zeros_like(mean), mean
        if self.form == "mask":
            return torch.zeros_like(inputs), mean
        if self.form == "mapping":
            return {"log_scale": self.log_scale + torch.zeros_like(mean), "mean": mean}
        return mean, self.log_scale.expand_as(mean)


@pytest.mark.parametrize("form", ["expanded", "computed", "mask", "mapping", "mean first"])
def test_a_constant_beside_the_prediction_ends_no_signal(tmp_path, form):
    torch.manual_seed(0)
    model = Gaussian(form)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    spreads = []
    with NeuralDbg(model, path=tmp_path / "run.ndbg", preset="every_step") as debugger:
        for _ in range(12):
            inputs = torch.randn(32, 6)
            output = model(inputs)
            first, second = output.values() if isinstance(output, dict) else output
            mean = first if form == "mean first" else second
            scale = model.log_scale.expand_as(mean)
            spreads.append(mean.detach().std(0, correction=0).item())
            loss = F.gaussian_nll_loss(mean, inputs.sum(1, keepdim=True), (2 * scale).exp())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    found = debugger.diagnosis()
    assert [str(event) for event in found.events if "differ" in str(event) or event.to_state == "dead"] == []
    trace = read_trace(tmp_path / "run.ndbg")
    np.testing.assert_allclose(trace.scalar("module.output_batch_spread", "")[1], spreads, rtol=1e-4)


def test_samples_that_do_not_differ_anywhere_are_still_told(tmp_path):
    torch.manual_seed(0)
    model = Gaussian("computed")
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.weight.requires_grad_(False)
    optimizer = torch.optim.SGD([model.log_scale, *model.body.parameters(), model.head.bias], lr=0.01)
    with NeuralDbg(model, path=tmp_path / "run.ndbg", preset="every_step") as debugger:
        for _ in range(12):
            inputs = torch.randn(32, 6)
            scale, mean = model(inputs)
            optimizer.zero_grad()
            F.gaussian_nll_loss(mean, inputs.sum(1, keepdim=True), (2 * scale).exp()).backward()
            optimizer.step()
    assert any("the samples differ by 0" in str(event) for event in debugger.diagnosis().events)
