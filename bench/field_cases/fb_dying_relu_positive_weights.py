"""Probabilities enter as logarithms, which are negative, and a reimplementation of another framework's layer draws its
weights from rand(), which is positive. Every unit of the first ReLU layer is below zero for every sample and stays
there. Repair: weights on both sides of zero."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_dying_relu_positive_weights",
    source="a public report",
    cause="dying_relu",
    also=["unnormalized_input", "init_too_large"],
    layer=["first", "act", ""],
    onset=(0, 0),
    symptom="dead_units",
)


class Rescorer(nn.Module):
    def __init__(self, centred: bool, inputs: int = 12, width: int = 48) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.act = nn.ReLU()
        self.second = nn.Linear(width, 5)
        with torch.no_grad():
            weight = torch.rand(width, inputs) / inputs**0.5
            self.first.weight.copy_(2 * weight - inputs**-0.5 if centred else weight)
            self.first.bias.zero_()

    def forward(self, log_probability: Tensor) -> Tensor:
        return self.second(self.act(self.first(log_probability)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Rescorer(centred=healthy)
    confusion = torch.randn(5, 12)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            label = torch.randint(0, 5, (32,))
            x = F.log_softmax(1.5 * confusion[label] + torch.randn(32, 12), dim=1) + 1.0
            loss = F.cross_entropy(model(x.clamp(max=-0.05)), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
