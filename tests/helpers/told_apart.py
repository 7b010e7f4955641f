"""What the small programs that look alike share: data, models, one loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from neuraldbg import NeuralDbg

Program = Callable[[Callable[[nn.Module], NeuralDbg]], None]


def points(count: int = 300, classes: int = 4) -> tuple[Tensor, Tensor]:
    inputs = torch.randn(count, 10)
    return inputs, (inputs @ torch.randn(10, classes)).argmax(1)


def network(outputs: int = 4) -> nn.Sequential:
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, outputs))


def train(
    model: nn.Module, loss: Callable[[], Tensor], steps: int, rate: float, watch: Any, adam: bool = False
) -> None:
    kind = torch.optim.Adam if adam else torch.optim.SGD
    optimizer = kind(model.parameters(), lr=rate)
    with watch(model):
        for _ in range(steps):
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()


class _Variational(nn.Module):
    def __init__(self, gain: float) -> None:
        super().__init__()
        self.first, self.mean, self.spread = nn.Linear(16, 32), nn.Linear(32, 4), nn.Linear(32, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16))
        with torch.no_grad():
            self.first.weight.mul_(gain)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = self.first(inputs).relu()
        mean, spread = self.mean(hidden), self.spread(hidden)
        return self.decoder(mean + (0.5 * spread).exp() * torch.randn_like(mean)), mean, spread


def variational(gain: float = 1.0, scale: float = 1.0) -> Program:
    """The divergence makes the loss one of several terms, of which a constant guess is known for one alone."""

    def program(watch: Any) -> None:
        inputs = scale * torch.randn(200, 3) @ torch.randn(3, 16)
        model = _Variational(gain)

        def loss() -> Tensor:
            rows = inputs[torch.randint(0, 200, (32,))]
            rebuilt, mean, spread = model(rows)
            return (rebuilt - rows).pow(2).mean() - 0.001 * (1 + spread - mean**2 - spread.exp()).mean()

        train(model, loss, 200, 1e-3, watch, adam=True)

    program.__name__ = f"variational_{gain:g}_{scale:g}"
    return program


class _Deep(nn.Module):
    """One activation module serves all layers."""

    def __init__(self, depth: int, activation: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(10 if index == 0 else 24, 24) for index in range(depth))
        self.head = nn.Linear(24, 4)
        self.activation = activation

    def forward(self, inputs: Tensor) -> Tensor:
        for layer in self.layers:
            inputs = self.activation(layer(inputs))
        return self.head(inputs)


def one_activation(depth: int, activation: nn.Module) -> Program:
    def program(watch: Any) -> None:
        inputs, labels = points()
        model = _Deep(depth, activation)
        train(model, lambda: F.cross_entropy(model(inputs), labels), 150, 5e-3, watch, adam=True)

    program.__name__ = f"one_{type(activation).__name__}_for_{depth}"
    return program
