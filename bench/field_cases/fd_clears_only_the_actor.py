"""Two optimizers, one for the actor and one for the critic. The loop clears the actor's gradients twice, by a slip
of the keyboard, and the critic's never. Repair: one each. The returned list is the critic's error."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fd_clears_only_the_actor",
    source="widely reported: two optimizers, zero_grad called on one of them",
    cause="missing_zero_grad",
    also=[],
    layer=None,
    onset=(0, 30),
    symptom="divergence",
)


class Agent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 3))
        self.critic = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    taste = torch.randn(5, 3)
    agent = Agent()
    actor_optimizer = torch.optim.SGD(agent.actor.parameters(), lr=0.1)
    critic_optimizer = torch.optim.SGD(agent.critic.parameters(), lr=0.05)
    errors = []
    with debug(agent):
        for _ in range(400):
            state = torch.randn(64, 5)
            policy = torch.distributions.Categorical(logits=agent.actor(state))
            action = policy.sample()
            reward = torch.tanh(state @ taste).gather(1, action[:, None]).squeeze(1)
            value = agent.critic(state).squeeze(1)
            advantage = reward - value.detach()
            actor_optimizer.zero_grad()
            (critic_optimizer if healthy else actor_optimizer).zero_grad()
            actor_loss = -(policy.log_prob(action) * advantage).mean()
            critic_loss = F.mse_loss(value, reward)
            (actor_loss + critic_loss).backward()
            actor_optimizer.step()
            critic_optimizer.step()
            errors.append(critic_loss.item())
    return errors
