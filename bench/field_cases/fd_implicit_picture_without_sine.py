"""A picture as a function of the coordinates. The sine was to be applied by a lambda that returns its argument, left
from a test; the net fits a plane. Repair: the sine."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_implicit_picture_without_sine",
    source="widely reported: an identity left in place of the activation",
    cause="missing_nonlinearity",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Implicit(nn.Module):
    def __init__(self, activation: Callable, width: int = 48) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(2, width), nn.Linear(width, width), nn.Linear(width, 1)
        self.activation = activation
        with torch.no_grad():
            self.first.weight.uniform_(-6, 6)

    def forward(self, place: Tensor) -> Tensor:
        h = self.activation(self.first(place))
        h = self.activation(self.second(h))
        return self.third(h)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Implicit(torch.sin if healthy else lambda h: h)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            place = 2 * torch.rand(128, 2) - 1
            grey = torch.sin(4 * place[:, :1]) * torch.cos(3 * place[:, 1:])
            loss = F.mse_loss(model(place), grey)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
