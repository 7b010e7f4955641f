"""Healthy. A physics-informed fit with L-BFGS: the closure clears, evaluates and backpropagates many times for one
step. The returned list is the loss at the start of each step."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_ok_lbfgs_closure",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    """Solves u' = -2 u, u(0) = 1 on [0, 2]."""
    torch.manual_seed(seed)
    time = torch.linspace(0, 2, 60).unsqueeze(1).requires_grad_()
    model = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=8, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        u = model(time)
        (slope,) = torch.autograd.grad(u.sum(), time, create_graph=True)
        loss = (slope + 2 * u).pow(2).mean() + (u[0] - 1).pow(2).mean()
        loss.backward()
        return loss

    with debug(model):
        return [float(optimizer.step(closure)) for _step in range(25)]
