"""Nine sigmoid layers in a row with the library's initialization. The slope of a sigmoid is a quarter at most, so that
each layer passes on a small part of the gradient and the first ones get a millionth of it: the loss stays at chance.
Repair: ReLU."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_vanishing_deep_sigmoid",
    source="a public report",
    cause="vanishing_depth",
    also=["saturating_activation"],
    layer=["stack", *[f"stack.{i}" for i in range(18)]],
    onset=(0, 0),
    symptom="vanishing_gradient",
)


class Deep(nn.Module):
    def __init__(self, activation: type[nn.Module], width: int = 32) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for depth in range(9):
            layer = nn.Linear(8 if depth == 0 else width, width)
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            layers += [layer, activation()]
        self.stack = nn.Sequential(*layers)
        self.out = nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.stack(x))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    centre = 1.5 * torch.randn(12, 8)
    model = Deep(nn.ReLU if healthy else nn.Sigmoid)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(250):
            cluster = torch.randint(0, 12, (32,))
            x = centre[cluster] + 0.5 * torch.randn(32, 8)
            loss = F.cross_entropy(model(x), cluster % 4)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
