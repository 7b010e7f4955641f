"""A net written with functions and its own parameters, each made by torch.zeros: the hidden layers' weights get
gradients of zero, and only the last bias learns. Repair: random numbers."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_parameters_from_zeros",
    source="widely reported: nn.Parameter(torch.zeros(...)) for weights",
    cause="symmetric_init",
    also=["init_too_small"],
    layer=["", "w1", "w2", "w3"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Functional(nn.Module):
    def __init__(self, random: bool) -> None:
        super().__init__()
        make = (lambda a, b: torch.randn(a, b) / a**0.5) if random else torch.zeros
        self.w1, self.w2, self.w3 = nn.Parameter(make(9, 32)), nn.Parameter(make(32, 32)), nn.Parameter(make(32, 3))
        self.b1, self.b2, self.b3 = (nn.Parameter(torch.zeros(n)) for n in (32, 32, 3))

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(x @ self.w1 + self.b1)
        h = torch.tanh(h @ self.w2 + self.b2)
        return h @ self.w3 + self.b3


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Functional(random=healthy)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    rule = torch.randn(9, 3)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(48, 9)
            label = (x @ rule + 0.5 * x[:, :3].square()).argmax(1)
            loss = F.cross_entropy(model(x), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
