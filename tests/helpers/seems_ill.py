"""Runs that look ill and are well: small programs of which nothing is to be said."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from helpers.told_apart import Program, network, one_activation, points, train, variational


def steps_by_hand(watch: Any) -> None:
    inputs, labels = points()
    model = network()
    with watch(model):
        for _ in range(30):
            F.cross_entropy(model(inputs), labels).backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.1 * parameter.grad
                    parameter.grad = None


class _Swish(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, values: Tensor) -> Tensor:  # type: ignore[override]
        context.save_for_backward(values)
        return values * torch.sigmoid(values)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        (values,) = context.saved_tensors
        gate = torch.sigmoid(values)
        return gradient * (gate + values * gate * (1 - gate))


class _OwnActivation(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(10, 32), nn.Linear(32, 4)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.last(_Swish.apply(self.first(inputs)))


def nonlinearity_of_ones_own(watch: Any) -> None:
    inputs, labels = points()
    model = _OwnActivation()
    train(model, lambda: F.cross_entropy(model(inputs), labels), 40, 0.05, watch)


def short_and_slow(watch: Any) -> None:
    inputs, labels = points(500)
    model = network()

    def loss() -> Tensor:
        rows = torch.randint(0, 500, (32,))
        return F.cross_entropy(model(inputs[rows]), labels[rows])

    train(model, loss, 30, 0.05, watch)


def trained_before(watch: Any) -> None:
    inputs, labels = points()
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(250):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    train(model, lambda: F.cross_entropy(model(inputs), labels), 120, 1e-4, watch, adam=True)


def adapters_on_a_frozen_model(watch: Any) -> None:
    inputs = torch.randn(256, 10)
    model = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 3))
    target = model(inputs).detach() + inputs @ torch.randn(10, 3)
    model.requires_grad_(False)
    model.add_module("adapter", nn.Identity())
    beside = nn.Linear(10, 3)
    whole = nn.ModuleDict({"base": model, "adapter": beside})
    train(whole, lambda: F.mse_loss(model(inputs) + beside(inputs), target), 200, 0.02, watch, adam=True)


class _Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(10, 32), nn.Linear(32, 4)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(32, 32), nn.GELU()) for _ in range(3))

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.first(inputs)
        for block in self.blocks:
            hidden = hidden + checkpoint(block, hidden, use_reentrant=True)
        return self.last(hidden)


def branches_hidden_in_checkpoints(watch: Any) -> None:
    inputs, labels = points()
    model = _Checkpointed()
    train(model, lambda: F.cross_entropy(model(inputs), labels), 25, 3e-3, watch, adam=True)


def two_good_losses_far_apart(watch: Any) -> None:
    """Validation ends at many times the training loss, and both are next to nothing."""
    labels = torch.arange(600) % 4
    inputs = 2.5 * torch.randn(4, 10)[labels] + torch.randn(600, 10)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    with watch(model):
        for step in range(400):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs[:500]), labels[:500]).backward()
            optimizer.step()
            if step % 20 == 19:
                with torch.no_grad():
                    F.cross_entropy(model(inputs[500:]), labels[500:])


def deep_and_learns(watch: Any) -> None:
    """The gradient shrinks a thousandfold over the depth at first, and an adaptive optimizer does not mind."""
    layers = [layer for _ in range(10) for layer in (nn.Linear(32, 32), nn.Tanh())]
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), *layers, nn.Linear(32, 4))
    inputs, labels = points()
    train(model, lambda: F.cross_entropy(model(inputs), labels), 300, 2e-3, watch, adam=True)


class _Sine(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.sin(self.linear(inputs))


def sines_at_the_end_of_blocks(watch: Any) -> None:
    """The function that gives a container's output belongs to the way into it."""
    inputs = torch.randn(300, 2)
    target = torch.sin(2 * inputs[:, :1]) * inputs[:, 1:]
    model = nn.Sequential(_Sine(2, 32), _Sine(32, 32), nn.Linear(32, 1))
    train(model, lambda: F.mse_loss(model(inputs), target), 300, 5e-3, watch, adam=True)


class _Experts(nn.Module):
    """The best expert answers; the last one is never the best."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(10, 3)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 4)) for _ in range(3))
        with torch.no_grad():
            self.router.bias.copy_(torch.tensor([0.0, -1.5, -100.0]))

    def forward(self, inputs: Tensor) -> Tensor:
        weights = self.router(inputs).softmax(1)
        best = weights.argmax(1)
        rows = [(best == index).nonzero().flatten() for index in range(3)]
        found = [
            weights[row, index, None] * self.experts[index](inputs[row]) for index, row in enumerate(rows) if len(row)
        ]
        return torch.cat(found)[torch.cat([row for row in rows if len(row)]).argsort()]


def an_expert_that_is_never_chosen(watch: Any) -> None:
    inputs, labels = points()
    model = _Experts()
    order = iter(torch.randint(0, 300, (400, 6)))

    def loss() -> Tensor:
        rows = next(order)
        return F.cross_entropy(model(inputs[rows]), labels[rows])

    train(model, loss, 400, 5e-3, watch, adam=True)


HEALTHY: tuple[Program, ...] = (
    an_expert_that_is_never_chosen,
    one_activation(6, nn.ReLU()),
    sines_at_the_end_of_blocks,
    variational(),
    two_good_losses_far_apart,
    deep_and_learns,
    steps_by_hand,
    nonlinearity_of_ones_own,
    short_and_slow,
    trained_before,
    adapters_on_a_frozen_model,
    branches_hidden_in_checkpoints,
)
