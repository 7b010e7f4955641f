"""A squashed policy imitates a driver. Its mean goes through tanh after a gain of sixty, meant for the steering
wheel's degrees, so that every action is full left or full right and the gradient nil. Repair: the gain behind the
tanh."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_squashed_policy_gain",
    source="widely reported: a tanh policy that outputs only -1 and 1",
    cause="saturating_activation",
    also=[],
    layer=["squash", "trunk.3", "mean"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Driver(nn.Module):
    def __init__(self, gain: float) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.mean = nn.Linear(48, 2)
        self.squash = nn.Tanh()
        self.gain = gain

    def forward(self, seen: Tensor) -> Tensor:
        return self.squash(self.gain * self.mean(self.trunk(seen)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    habit = torch.randn(8, 2) / 4
    model = Driver(1.0 if healthy else 60.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(300):
            seen = torch.randn(64, 8)
            steering = 0.8 * torch.tanh(seen @ habit) + 0.1 * (seen[:, :2] * seen[:, 2:4]).tanh()
            loss = F.mse_loss(model(seen), steering)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
