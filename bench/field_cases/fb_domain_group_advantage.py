"""Policy gradient with advantages that are standardized within a group of samples, (reward - mean) / std, without an
epsilon. Once the policy is sure, all samples of a group earn the same, the deviation is zero and the advantage is
0/0. Repair: an epsilon."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_domain_group_advantage",
    source="a public report",
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(10, 60),
    symptom="loss_nan",
)


class Policy(nn.Module):
    def __init__(self, states: int = 8, width: int = 32, actions: int = 5) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(states, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.actor = nn.Linear(width, actions)

    def forward(self, state: Tensor) -> Tensor:
        return F.log_softmax(self.actor(self.trunk(state)), dim=-1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    """Returns the share of reward that was missed, so that lower is better."""
    torch.manual_seed(seed)
    best = torch.randn(8, 5)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    missed = []
    with debug(policy):
        for _ in range(300):
            prompt = torch.randn(8, 8)
            state = prompt.repeat_interleave(16, dim=0)
            log_probability = policy(state)
            with torch.no_grad():
                action = torch.multinomial(log_probability.exp().nan_to_num(0.2), 1).squeeze(1)
                reward = (state @ best).softmax(dim=1).gather(1, action[:, None]).view(8, 16)
                spread = reward.std(dim=1, keepdim=True)
                advantage = (reward - reward.mean(dim=1, keepdim=True)) / (spread + 1e-4 if healthy else spread)
            loss = -(advantage.flatten() * log_probability.gather(1, action[:, None]).squeeze(1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            missed.append((1 - reward.mean()).item() if torch.isfinite(loss) else float("nan"))
    return missed
