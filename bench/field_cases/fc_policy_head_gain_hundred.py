"""The last layer of a policy should start almost flat, an orthogonal matrix times 0.01; it got 100. The policy is sure
of one action in every state, right or wrong, tries nothing else, and the softmax passes no gradient. Repair: 0.01. The
returned list is minus the mean reward."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_policy_head_gain_hundred",
    source="widely reported: a policy that is deterministic from the first step",
    cause="init_too_large",
    also=["saturating_activation"],
    layer=["actor", ""],
    onset=(0, 0),
    symptom="saturation",
)


class ActorCritic(nn.Module):
    def __init__(self, gain: float) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.actor = nn.Linear(32, 4)
        self.critic = nn.Linear(32, 1)
        nn.init.orthogonal_(self.actor.weight, gain=gain)
        nn.init.zeros_(self.actor.bias)

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        h = self.body(state)
        return self.actor(h), self.critic(h).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    need = torch.randn(4, 5)
    model = ActorCritic(0.01 if healthy else 100.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    history = []
    with debug(model):
        for _ in range(300):
            state = torch.randn(64, 5)
            logits, value = model(state)
            policy = torch.distributions.Categorical(logits=logits)
            action = policy.sample()
            reward = (state @ need.t()).gather(1, action[:, None]).squeeze(1)
            advantage = reward - value.detach()
            loss = -(policy.log_prob(action) * advantage).mean() + 0.5 * nn.functional.mse_loss(value, reward)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.append(-reward.mean().item())
    return history
