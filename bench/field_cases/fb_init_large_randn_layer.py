"""A hand-written linear layer with nn.Parameter(torch.randn(out, in)) and no scale. Four of them in a row multiply the
signal by hundreds; the first loss is in the hundreds instead of near ln 5 and the whole run is spent on undoing it.
Repair: divide by the root of the fan-in."""

from collections.abc import Callable
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_init_large_randn_layer",
    source="a public report",
    cause="init_too_large",
    also=["exploding_depth"],
    layer=["layers", "", *[f"layers.{i}" for i in range(4)]],
    onset=(0, 0),
    symptom="slow",
)


class MyLinear(nn.Module):
    def __init__(self, inputs: int, outputs: int, scaled: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) * ((2 / inputs) ** 0.5 if scaled else 1.0))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight.T + self.bias


class Net(nn.Module):
    def __init__(self, scaled: bool) -> None:
        super().__init__()
        sizes = [16, 64, 64, 64, 5]
        self.layers = nn.ModuleList([MyLinear(a, b, scaled) for a, b in pairwise(sizes)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Net(scaled=healthy)
    teacher = torch.randn(16, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            x = torch.randn(64, 16)
            loss = F.cross_entropy(model(x), (x @ teacher).argmax(dim=1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
