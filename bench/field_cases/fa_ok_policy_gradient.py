"""Healthy. A policy is trained by its own rewards with a running baseline. The 'loss' hovers around zero with either
sign and says nothing about progress; the return goes up. The returned list is minus the mean reward of the batch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_ok_policy_gradient",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.action = nn.Linear(32, 4)

    def forward(self, state: Tensor) -> torch.distributions.Categorical:
        return torch.distributions.Categorical(logits=self.action(self.body(state)))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    worth = torch.randn(4, 6)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    baseline, history = 0.0, []
    with debug(policy):
        for _step in range(300):
            state = torch.randn(48, 6)
            choice = policy(state)
            action = choice.sample()
            reward = (state @ worth.t()).gather(1, action.unsqueeze(1)).squeeze(1) + 0.3 * torch.randn(48)
            loss = -(choice.log_prob(action) * (reward - baseline)).mean() - 0.01 * choice.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            baseline = 0.95 * baseline + 0.05 * reward.mean().item()
            history.append(-reward.mean().item())
    return history
