"""Whole training programs: one for each failure type, from modules and from functions, and healthy ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Batch = Callable[[int], tuple[Tensor, Tensor]]
Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass
class Program:
    """What a loop needs."""

    model: nn.Module
    batch: Batch
    loss_of: Loss
    optimizer: torch.optim.Optimizer
    steps: int = 120
    accumulate: int = 1

    def run(self, debugger: Any) -> None:
        with debugger:
            for step in range(self.steps):
                inputs, targets = self.batch(step)
                loss = self.loss_of(self.model(inputs), targets) / self.accumulate
                loss.backward()
                if step % self.accumulate == self.accumulate - 1:
                    self.optimizer.step()
                    self.optimizer.zero_grad()


class Stack(nn.Module):
    """Linear layers with a functional activation between them."""

    def __init__(self, sizes: list[int], activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


_MODULES: dict[Any, type[nn.Module]] = {torch.sigmoid: nn.Sigmoid, torch.tanh: nn.Tanh, F.relu: nn.ReLU}


def stack(sizes: list[int], activation: Callable[[Tensor], Tensor], functional: bool) -> nn.Module:
    if functional:
        return Stack(sizes, activation)
    layers: list[nn.Module] = []
    for a, b in pairwise(sizes):
        layers += [nn.Linear(a, b), _MODULES[activation]()]
    return nn.Sequential(*layers[:-1])


def linears(model: nn.Module) -> list[nn.Linear]:
    return [layer for layer in model.modules() if isinstance(layer, nn.Linear)]


def clusters(features: int = 10, classes: int = 4, samples: int = 64) -> Batch:
    centers = torch.randn(classes, features) * 1.2

    def batch(step: int) -> tuple[Tensor, Tensor]:
        ids = torch.randint(0, classes, (samples,))
        return centers[ids] + torch.randn(samples, features), ids

    return batch


def line(features: int = 10, samples: int = 64) -> Batch:
    weights = torch.randn(features, 1) / features**0.5

    def batch(step: int) -> tuple[Tensor, Tensor]:
        inputs = torch.randn(samples, features)
        return inputs, torch.tanh(inputs @ weights * 2) + 0.05 * torch.randn(samples, 1)

    return batch


def sgd(model: nn.Module, rate: float, **more: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=rate, **more)


def adam(model: nn.Module, rate: float = 3e-3) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), lr=rate)


# one program for each failure type --------------------------------------------------------------------------------


def vanishing_gradients(functional: bool) -> Program:
    model = stack([10, *[24] * 14, 4], torch.sigmoid, functional)
    return Program(model, clusters(), F.cross_entropy, sgd(model, 0.1), steps=200)


def exploding_gradients(functional: bool) -> Program:
    model = stack([10, *[48] * 16, 1], F.relu, functional)
    with torch.no_grad():
        for layer in linears(model):
            layer.weight.copy_(torch.randn_like(layer.weight) * (4.0 / layer.in_features) ** 0.5)
    return Program(model, line(), F.mse_loss, sgd(model, 1e-3), steps=60)


def dead_neurons(functional: bool) -> Program:
    model = stack([10, 32, 32, 4], F.relu, functional)
    with torch.no_grad():
        for layer in linears(model)[:-1]:
            layer.bias.fill_(-20.0)
    return Program(model, clusters(), F.cross_entropy, sgd(model, 0.05), steps=150)


def saturated_activations(functional: bool) -> Program:
    model = stack([10, 16, 16, 16, 16, 1], torch.tanh, functional)
    with torch.no_grad():
        for layer in linears(model)[:-1]:
            layer.weight.copy_(torch.randn_like(layer.weight) * 30)
    return Program(model, line(), F.mse_loss, sgd(model, 0.02), steps=150)


def optimizer_instability(functional: bool) -> Program:
    model = stack([10, 32, 32, 1], torch.tanh, functional)
    return Program(model, line(), F.mse_loss, sgd(model, 20.0), steps=120)


def data_anomaly(functional: bool) -> Program:
    model = stack([10, 32, 32, 4], F.relu, functional)
    healthy = clusters()

    def batch(step: int) -> tuple[Tensor, Tensor]:
        inputs, ids = healthy(step)
        if step == 70:
            inputs[5, 3] = float("nan")
        return inputs, ids

    return Program(model, batch, F.cross_entropy, sgd(model, 0.05), steps=110)


#: Failure type → program, and the causes that are right answers.
FAILING: dict[str, tuple[Callable[[bool], Program], set[str]]] = {
    "vanishing_gradients": (vanishing_gradients, {"vanishing_depth"}),
    "exploding_gradients": (exploding_gradients, {"exploding_depth", "init_too_large"}),
    "dead_neurons": (dead_neurons, {"dying_relu"}),
    "saturated_activations": (saturated_activations, {"saturating_activation", "init_too_large"}),
    "optimizer_instability": (optimizer_instability, {"learning_rate_too_high"}),
    "data_anomaly": (data_anomaly, {"nan_in_input"}),
}


# healthy ones ------------------------------------------------------------------------------------------------------


def healthy_mlp() -> Program:
    model = stack([10, 32, 32, 4], F.relu, False)
    return Program(model, clusters(), F.cross_entropy, sgd(model, 0.1, momentum=0.5))


def healthy_cnn() -> Program:
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(16, 3),
    )  # fmt: skip
    patterns = torch.randn(3, 1, 8, 8)

    def batch(step: int) -> tuple[Tensor, Tensor]:
        ids = torch.randint(0, 3, (32,))
        return patterns[ids] + 0.7 * torch.randn(32, 1, 8, 8), ids

    return Program(model, batch, F.cross_entropy, adam(model, 5e-3))


class LastState(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.head = nn.GRU(3, 24, batch_first=True), nn.Linear(24, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.rnn(x)[0][:, -1])


def healthy_gru() -> Program:
    model = LastState()

    def batch(step: int) -> tuple[Tensor, Tensor]:
        inputs = torch.randn(32, 8, 3)
        return inputs, inputs[:, -3:, 0].mean(1, keepdim=True) * 2

    return Program(model, batch, F.mse_loss, adam(model, 5e-3), steps=200)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(12, 32), nn.Embedding(8, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 1), nn.Linear(32, 12)

    def forward(self, ids: Tensor) -> Tensor:
        hidden = self.embed(ids) + self.place(torch.arange(ids.shape[1]))
        return self.head(self.encoder(hidden)).flatten(0, 1)


def healthy_transformer() -> Program:
    model = Tagger()

    def batch(step: int) -> tuple[Tensor, Tensor]:
        ids = torch.randint(0, 12, (32, 8))
        return ids, ids.roll(1, 1).flatten()

    return Program(model, batch, F.cross_entropy, adam(model), steps=200)


def sparse_relu() -> Program:
    """Most activations are zero, and no unit is dead."""
    model = stack([10, 128, 4], F.relu, False)
    with torch.no_grad():
        linears(model)[0].bias.fill_(-0.6)
    return Program(model, clusters(), F.cross_entropy, sgd(model, 0.1))


def converged() -> Program:
    """Ends at gradients that are next to nothing, for it is done."""
    model = nn.Linear(5, 1)
    weights = torch.randn(5, 1)

    def batch(step: int) -> tuple[Tensor, Tensor]:
        inputs = torch.randn(64, 5)
        return inputs, inputs @ weights + 0.3

    return Program(model, batch, F.mse_loss, sgd(model, 0.2), steps=200)


def frozen_backbone() -> Program:
    body = stack([10, 32, 32, 32], torch.tanh, False)
    for parameter in body.parameters():
        parameter.requires_grad_(False)
    model = nn.Sequential(body, nn.Tanh(), nn.Linear(32, 4))
    return Program(model, clusters(), F.cross_entropy, torch.optim.Adam(model[2].parameters(), lr=0.01))


def accumulation() -> Program:
    model = stack([10, 32, 4], F.relu, False)
    return Program(model, clusters(samples=16), F.cross_entropy, adam(model, 0.01), steps=320, accumulate=4)


class Density(nn.Module):
    """A Gaussian whose spread is learned: its negative log-likelihood ends below zero."""

    def __init__(self) -> None:
        super().__init__()
        self.body = stack([3, 24, 2], torch.tanh, False)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


def density() -> Program:
    model = Density()

    def batch(step: int) -> tuple[Tensor, Tensor]:
        inputs = torch.randn(64, 3)
        return inputs, inputs[:, :1] * 0.5 + 0.05 * torch.randn(64, 1)

    def loss_of(output: Tensor, target: Tensor) -> Tensor:
        center, spread = output.chunk(2, 1)
        return -torch.distributions.Normal(center, F.softplus(spread) + 1e-3).log_prob(target).mean()

    return Program(model, batch, loss_of, adam(model, 0.01), steps=250)


HEALTHY: dict[str, Callable[[], Program]] = {
    "mlp": healthy_mlp,
    "cnn": healthy_cnn,
    "gru": healthy_gru,
    "transformer": healthy_transformer,
    "sparse relu": sparse_relu,
    "tiny gradients at convergence": converged,
    "frozen backbone": frozen_backbone,
    "accumulation": accumulation,
    "negative loss of a density": density,
}
