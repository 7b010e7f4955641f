"""The optimizer is written by hand, and its momentum is 0.998 where 0.9 was meant. The velocity piles up over hundreds
of steps: the loss falls, overshoots and swings far above where it should be. Repair: 0.9."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_momentum_by_hand",
    source="widely reported: momentum close to one, the loss swings",
    cause="excessive_momentum",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(0, 80),
    symptom="slow",
)


class HeavyBall(torch.optim.Optimizer):
    def __init__(self, parameters, lr: float, momentum: float) -> None:
        super().__init__(parameters, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                velocity = self.state[p].setdefault("velocity", torch.zeros_like(p))
                velocity.mul_(group["momentum"]).add_(p.grad)
                p.sub_(group["lr"] * velocity)


class Interpolator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU())
        self.field = nn.Linear(48, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.field(self.body(x))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Interpolator()
    optimizer = HeavyBall(model.parameters(), lr=0.06, momentum=0.9 if healthy else 0.998)
    criterion = nn.MSELoss()
    losses = []
    with debug(model):
        for _ in range(400):
            x = 2 * torch.rand(48, 4) - 1
            y = torch.stack([x[:, 0] + 2 * x[:, 1] * x[:, 2], x[:, 3] - x[:, 0]], 1)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
