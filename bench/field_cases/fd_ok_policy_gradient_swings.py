"""Healthy. A policy whose reward per batch swings wildly, since a single lucky action pays ten times the rest, and
whose surrogate loss has no direction at all. The list is the share of the best action's reward that the policy
misses in expectation."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_ok_policy_gradient_swings",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 5))

    def forward(self, x: Tensor) -> Tensor:
        return F.log_softmax(self.net(x), 1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(4, 5)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    missed, baseline = [], 0.0
    with debug(policy):
        for _ in range(500):
            state = torch.randn(48, 4)
            log_probability = policy(state)
            action = torch.multinomial(log_probability.exp().detach(), 1).squeeze(1)
            chance = (state @ rule).softmax(1)
            paid = (torch.rand(48) < 0.3 * chance.gather(1, action[:, None]).squeeze(1)).float() * 10
            chosen = log_probability.gather(1, action[:, None]).squeeze(1)
            loss = -(chosen * (paid - baseline)).mean() + 0.01 * (log_probability.exp() * log_probability).sum(1).mean()
            baseline = 0.95 * baseline + 0.05 * paid.mean().item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                missed.append(1 - ((log_probability.exp() * chance).sum(1) / chance.amax(1)).mean().item())
    return missed
