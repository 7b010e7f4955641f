"""A policy ends in a softmax, and its output goes into Categorical(logits=...), which applies another. No action can
ever be likelier than e to one, and the policy stays close to chance. Repair: probs=. The list is the share of reward
missed."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fd_categorical_of_probabilities",
    source="widely reported: Categorical(logits=) fed with probabilities",
    cause="redundant_softmax",
    also=[],
    layer=["", "softmax"],
    onset=(0, 0),
    symptom="slow",
)


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 8))
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, state: Tensor) -> Tensor:
        return self.softmax(self.body(state))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(6, 8)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    missed = []
    with debug(policy):
        for _ in range(350):
            state = torch.randn(64, 6)
            output = policy(state)
            choice = torch.distributions.Categorical(**{"probs" if healthy else "logits": output})
            action = choice.sample()
            reward = (action == (state @ rule).argmax(1)).float()
            loss = -(choice.log_prob(action) * (reward - reward.mean())).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            missed.append(1 - reward.mean().item())
    return missed
