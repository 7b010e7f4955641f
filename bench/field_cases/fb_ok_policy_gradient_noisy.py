"""Healthy. REINFORCE on a bandit with contexts: the loss that is stepped down on is positive and negative in turn,
means nothing in itself and does not fall, and the policy gets better all the time. The list holds the reward that
was missed."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_policy_gradient_noisy",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Agent(nn.Module):
    def __init__(self, states: int = 6, width: int = 32, actions: int = 4) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(states, width), nn.Tanh())
        self.actor = nn.Linear(width, actions)
        self.critic = nn.Linear(width, 1)

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        h = self.body(state)
        return F.log_softmax(self.actor(h), dim=1), self.critic(h).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    best = torch.randn(6, 4)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=6e-3)
    missed = []
    with debug(agent):
        for _ in range(400):
            state = torch.randn(32, 6)
            log_probability, value = agent(state)
            action = torch.multinomial(log_probability.detach().exp(), 1)
            reward = (action.squeeze(1) == (state @ best).argmax(dim=1)).float() + 0.5 * torch.randn(32)
            advantage = reward - value.detach()
            chosen = log_probability.gather(1, action).squeeze(1)
            entropy = -(log_probability.exp() * log_probability).sum(dim=1).mean()
            loss = -(advantage * chosen).mean() + 0.5 * F.mse_loss(value, reward) - 0.01 * entropy
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            missed.append(1 - (action.squeeze(1) == (state @ best).argmax(dim=1)).float().mean().item())
    return missed
