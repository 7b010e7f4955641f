"""A physics-informed net for the temperature along a rod: the position runs from 0 to 2000 millimetres and goes into
tanh units as it is, which are flat almost everywhere. Repair: positions from -1 to 1, with the derivative scaled
along. The returned list is the error against the exact solution."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fd_pinn_beam_in_millimetres",
    source="widely reported: physics-informed nets whose coordinates are not scaled",
    cause="unnormalized_input",
    also=["saturating_activation"],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Rod(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, position: Tensor) -> Tensor:
        return self.body(position)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    length = 2000.0
    model = Rod()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    ends = torch.tensor([[0.0], [length]])
    errors = []
    with debug(model):
        for _ in range(500):
            inside = length * torch.rand(48, 1)
            points = torch.cat([inside, ends])
            coordinate = (2 * points / length - 1 if healthy else points).requires_grad_()
            u = model(coordinate)
            slope = torch.autograd.grad(u.sum(), coordinate, create_graph=True)[0]
            bend = torch.autograd.grad(slope.sum(), coordinate, create_graph=True)[0]
            per_half_length = 1.0 if healthy else (length / 2) ** 2
            heat = 4 * torch.sin(3.14159 * (2 * inside / length - 1))
            residual = (bend[:-2] * per_half_length + heat) / 4
            loss = residual.square().mean() + 4 * u[-2:].square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            exact = 4 / 9.8696 * torch.sin(3.14159 * (2 * inside / length - 1))
            errors.append((u[:-2] - exact).square().mean().item() if torch.isfinite(loss) else float("nan"))
    return errors
