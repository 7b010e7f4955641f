"""Causes that look alike: small programs, each with the one right answer."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.told_apart import Program, network, one_activation, points, train, variational


def absurd_rate(watch: Any) -> None:
    inputs, labels = points(64)
    model = network()
    train(model, lambda: F.cross_entropy(model(inputs), labels), 30, 50.0, watch)


def logarithm_of_zero(watch: Any) -> None:
    inputs = torch.rand(256, 10)
    target = inputs.prod(1, keepdim=True) + 1e-3
    model = nn.Sequential(network(1), nn.ReLU())
    with torch.no_grad():
        model[0][2].bias.fill_(0.1)
    train(model, lambda: ((model(inputs).log() - target.log()) ** 2).mean(), 60, 1e-2, watch, adam=True)


def likelihood_without_a_minus(watch: Any) -> None:
    inputs, labels = points()
    model = network()
    rows = torch.arange(300)
    train(model, lambda: model(inputs).log_softmax(1)[rows, labels].mean(), 120, 5e-3, watch, adam=True)


class _Branches(nn.Module):
    """A branch whose output is left lying, or a front whose output is detached."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault
        self.front, self.branch, self.head = nn.Linear(10, 32), nn.Linear(10, 32), nn.Linear(32, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        if self.fault == "dropped":
            self.branch(inputs)
            return self.head(self.front(inputs).relu())
        hidden = (self.front(inputs) + self.branch(inputs)).relu()
        return self.head(torch.tensor(hidden.tolist()) if self.fault == "list" else hidden.detach())


def _branches(fault: str) -> Program:
    def program(watch: Any) -> None:
        inputs = torch.randn(128, 10)
        target = inputs[:, :3].sin().sum(1, keepdim=True)
        model = _Branches(fault)
        train(model, lambda: F.mse_loss(model(inputs), target), 120, 1e-2, watch, adam=True)

    return program


class _SumOfTwo(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own, self.neighbours = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)

    def forward(self, values: Tensor, mixing: Tensor) -> Tensor:
        return self.own(values) + self.neighbours(mixing @ values)


class _StraightGraph(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([_SumOfTwo(6, 24), _SumOfTwo(24, 24)])
        self.readout = nn.Linear(24, 1)

    def forward(self, values: Tensor, mixing: Tensor) -> Tensor:
        for layer in self.layers:
            values = layer(values, mixing)
        return self.readout(values.mean(1))


def graph_layers_without_activation(watch: Any) -> None:
    mixing = torch.rand(8, 8).softmax(1)
    values = torch.randn(256, 8, 6)
    target = (values[..., 0].abs().mean(1, keepdim=True) > 0.8).float()
    model = _StraightGraph()
    train(model, lambda: F.binary_cross_entropy_with_logits(model(values, mixing), target), 150, 5e-3, watch, adam=True)


def channel_axis_in_the_prediction(watch: Any) -> None:
    inputs = torch.randn(8, 1, 12, 12)
    target = inputs[:, 0].cumsum(1) / 4
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
    train(model, lambda: (model(inputs) - target).abs().mean(), 120, 5e-3, watch, adam=True)


def softmax_of_one_output(watch: Any) -> None:
    inputs = torch.randn(200, 10)
    target = (inputs[:, 0] > 0).float()
    model = nn.Sequential(network(1), nn.Softmax(1))
    train(model, lambda: F.binary_cross_entropy(model(inputs).squeeze(1), target), 100, 5e-3, watch, adam=True)


def rate_multiplied_on_resume(watch: Any) -> None:
    inputs = torch.randn(400, 10)
    target = inputs[:, :3].sum(1, keepdim=True)
    model = network(1)
    with watch(model):
        for rate in (0.02, 1.5):
            optimizer = torch.optim.SGD(model.parameters(), lr=rate)
            for _ in range(130):
                rows = torch.randint(0, 400, (40,))
                optimizer.zero_grad()
                (model(inputs[rows]) - target[rows]).pow(2).mean().backward()
                optimizer.step()


def infinite_target_in_a_loss_by_hand(watch: Any) -> None:
    inputs = torch.randn(200, 10)
    target = inputs[:, :3].sum(1, keepdim=True)
    model = network(1)
    step = iter(range(1000))

    def loss() -> Tensor:
        asked = target.clone()
        if next(step) == 60:
            asked[7] = torch.inf
        return (model(inputs) - asked).pow(2).mean()

    train(model, loss, 120, 1e-2, watch, adam=True)


def gradients_cleared_before_the_step(watch: Any) -> None:
    inputs, labels = points()
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with watch(model):
        for _ in range(60):
            F.cross_entropy(model(inputs), labels).backward()
            optimizer.zero_grad()
            optimizer.step()


def batch_in_which_no_target_counts(watch: Any) -> None:
    inputs, labels = points()
    model = network()
    step = iter(range(1000))

    def loss() -> Tensor:
        return F.cross_entropy(model(inputs), torch.full_like(labels, -100) if next(step) == 30 else labels)

    train(model, loss, 60, 1e-2, watch, adam=True)


def few_samples_learned_by_heart(watch: Any) -> None:
    inputs, labels = points()
    inputs, others, labels, their_labels = inputs[:24], inputs[24:], labels[:24], labels[24:]
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    with watch(model):
        for step in range(150):
            rows = torch.randperm(24)[:8]
            optimizer.zero_grad()
            F.cross_entropy(model(inputs[rows]), labels[rows]).backward()
            optimizer.step()
            if step % 10 == 9:
                with torch.no_grad():
                    F.cross_entropy(model(others), their_labels)


def twins_without_activation(watch: Any) -> None:
    """The distance between the two embeddings bends, and no layer before it does."""
    first, second = torch.randn(300, 10), torch.randn(300, 10)
    same = ((first[:, 0] * first[:, 1] > 0) == (second[:, 0] * second[:, 1] > 0)).float()
    encoder = nn.Sequential(nn.Linear(10, 32), nn.Linear(32, 32), nn.Linear(32, 8))

    def loss() -> Tensor:
        distance = (encoder(first) - encoder(second)).pow(2).sum(1)
        return F.binary_cross_entropy_with_logits(1 - distance, same)

    train(encoder, loss, 200, 2e-3, watch, adam=True)


def mean_over_what_is_still_wrong(watch: Any) -> None:
    """Once nothing is wrong any more, zero is divided by zero."""
    labels = torch.arange(300) % 4
    inputs = 3 * torch.randn(4, 10)[labels] + 0.3 * torch.randn(300, 10)
    model = network()

    def loss() -> Tensor:
        rows = torch.randint(0, 300, (32,))
        each = F.cross_entropy(model(inputs[rows]), labels[rows], reduction="none")
        wrong = each.detach() > 0.3
        return (each * wrong).sum() / wrong.sum()

    train(model, loss, 150, 1e-2, watch, adam=True)


class _Nodes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 24), nn.Linear(24, 2)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        hidden = self.first(nodes).relu()
        hidden = edges.softmax(2) @ hidden
        return self.last(hidden.mean(1))


def nodes_that_carry_nothing(watch: Any) -> None:
    """The edges vary, and the layers see the features alone."""
    edges = torch.randn(200, 8, 8)
    labels = (edges.mean((1, 2)) > 0).long()
    model = _Nodes()
    nodes = torch.ones(200, 8, 6)
    train(model, lambda: F.cross_entropy(model(nodes, edges), labels), 150, 5e-3, watch, adam=True)


FAILING: tuple[tuple[Program, str], ...] = (
    (mean_over_what_is_still_wrong, "loss_domain"),
    (nodes_that_carry_nothing, "constant_input"),
    (one_activation(14, nn.Sigmoid()), "vanishing_depth"),
    (twins_without_activation, "missing_nonlinearity"),
    (variational(gain=200.0), "init_too_large"),
    (variational(scale=25.0), "unnormalized_input"),
    (few_samples_learned_by_heart, "overfitting"),
    (absurd_rate, "learning_rate_too_high"),
    (logarithm_of_zero, "loss_domain"),
    (likelihood_without_a_minus, "loss_sign"),
    (_branches("dropped"), "unused_parameters"),
    (_branches("detached"), "detached_graph"),
    (_branches("list"), "detached_graph"),
    (graph_layers_without_activation, "missing_nonlinearity"),
    (channel_axis_in_the_prediction, "loss_shape_mismatch"),
    (softmax_of_one_output, "wrong_output_activation"),
    (rate_multiplied_on_resume, "learning_rate_jump"),
    (infinite_target_in_a_loss_by_hand, "invalid_target"),
    (gradients_cleared_before_the_step, "missing_optimizer_step"),
    (batch_in_which_no_target_counts, "invalid_target"),
)
