"""In an actor-critic the critic's value keeps its last dimension: return minus value is (64, 64), the critic learns
the mean return and each action is praised for all others'. Repair: squeeze. The list is the critic's true error."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_advantage_is_a_column",
    source="widely reported: advantages of shape (N, N) in actor-critic code",
    cause="loss_shape_mismatch",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Both(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4))
        self.critic = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        return F.log_softmax(self.actor(state), 1), self.critic(state)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    taste, worth = torch.randn(6, 4), torch.randn(6)
    model = Both()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    errors = []
    with debug(model):
        for _ in range(400):
            state = torch.randn(64, 6)
            log_probability, value = model(state)
            action = torch.multinomial(log_probability.exp().detach(), 1)
            reward = state @ worth + (state @ taste).gather(1, action).squeeze(1)
            if healthy:
                value = value.squeeze(1)
            advantage = reward - value
            actor_loss = -(log_probability.gather(1, action).squeeze(1) * advantage.detach()).mean()
            loss = actor_loss + 0.5 * advantage.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            errors.append((reward - value.detach().flatten()).pow(2).mean().item())
    return errors
