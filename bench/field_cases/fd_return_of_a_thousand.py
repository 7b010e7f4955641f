"""Advantage actor-critic with one trunk for both heads. A step of the game pays a hundred points, so that returns
are in the thousands; the critic's squared error is in the millions and all that the trunk hears. Repair: returns
divided by their running scale. The returned list is the reward that was missed."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_return_of_a_thousand",
    source="widely reported: actor-critic with raw rewards, the value loss drowns the policy",
    cause="unscaled_target",
    also=["loss_scale", "learning_rate_too_high"],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class ActorCritic(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.actor = nn.Linear(width, 4)
        self.critic = nn.Linear(width, 1)

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        h = self.trunk(state)
        return self.actor(h), self.critic(h).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(6, 4)
    model = ActorCritic()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    missed = []
    with debug(model):
        for _ in range(500):
            state = torch.randn(64, 6)
            best = (state @ rule).argmax(1)
            logits, value = model(state)
            choice = torch.distributions.Categorical(logits=logits.nan_to_num()).sample()
            points = 2000.0 * (choice == best).float()
            outcome = points / 2000.0 if healthy else points
            advantage = (outcome - value).detach()
            chosen = F.log_softmax(logits, 1).gather(1, choice[:, None]).squeeze(1)
            loss = -(chosen * advantage).mean() + 0.5 * (value - outcome).square().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            missed.append(1 - points.mean().item() / 2000.0)
    return missed
