"""A physics-informed net for a diffusion whose coefficient goes with the concentration to the power 1.2. The net's
output is negative here and there at the start, and a broken power of it is NaN. Repair: the softplus of the
output."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_power_of_a_negative",
    source="as in github.com/prateekbhustali/Physics-Informed-Neural-Networks/issues/1",
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(0, 5),
    symptom="loss_nan",
)


class Concentration(nn.Module):
    def __init__(self, positive: bool) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
        nn.init.constant_(self.net[4].bias, -0.5)
        self.positive = positive

    def forward(self, place: Tensor) -> Tensor:
        u = self.net(place)
        return F.softplus(u) if self.positive else u


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Concentration(positive=healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            place = torch.rand(64, 2) * 2 - 1
            place.requires_grad_()
            u = model(place)
            du = torch.autograd.grad(u.sum(), place, create_graph=True)[0]
            flux = 0.2 * u.pow(1.2) * du[:, :1]
            spread = torch.autograd.grad(flux.sum(), place, create_graph=True)[0][:, :1]
            edge = torch.cat([torch.rand(32, 1) * 2 - 1, -torch.ones(32, 1)], 1)
            start = model(edge) - (0.3 + 0.5 * torch.exp(-8 * edge[:, :1].square()))
            loss = (du[:, 1:] - spread).square().mean() + 5 * start.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
