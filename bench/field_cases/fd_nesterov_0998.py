"""A neural differential equation, solved by Euler steps written out, is trained with Nesterov momentum of 0.998 at a
rate that does well with 0.9. The loss comes down, swings up and swings on. Repair: 0.9."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_nesterov_0998",
    source="widely reported: momentum 0.99 and more at an unchanged rate, the loss oscillates",
    cause="excessive_momentum",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(0, 80),
    symptom="divergence",
)


class Dynamics(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.field = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 2))

    def forward(self, start: Tensor, steps: int = 12, pace: float = 0.2) -> Tensor:
        path, state = [], start
        for _ in range(steps):
            state = state + pace * self.field(state)
            path.append(state)
        return torch.stack(path, 1)


def true_path(start: Tensor) -> Tensor:
    turn, path, state = torch.tensor([[-0.1, 1.0], [-1.0, -0.1]]), [], start
    for _ in range(12):
        state = state + 0.2 * state @ turn.t()
        path.append(state)
    return torch.stack(path, 1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Dynamics()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9 if healthy else 0.998, nesterov=True)
    losses = []
    with debug(model):
        for _ in range(300):
            start = torch.randn(32, 2)
            loss = F.mse_loss(model(start), true_path(start))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
