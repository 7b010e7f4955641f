"""Healthy. A physics-informed net with LBFGS: each step calls its closure many times, and the loss falls by orders
of magnitude, to where float32 can't go lower."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fd_ok_lbfgs_for_a_pendulum",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=12, line_search_fn="strong_wolfe")
    time = torch.linspace(0, 2, 40).unsqueeze(1).requires_grad_()
    losses = []

    def closure() -> Tensor:
        optimizer.zero_grad()
        angle = net(time)
        speed = torch.autograd.grad(angle.sum(), time, create_graph=True)[0]
        force = torch.autograd.grad(speed.sum(), time, create_graph=True)[0]
        loss = (force + 2 * torch.sin(angle)).square().mean() + (angle[0] - 1).square().sum() + speed[0].square().sum()
        loss.backward()
        return loss

    with debug(net):
        for _ in range(25):
            losses.append(optimizer.step(closure).item())
    return losses
