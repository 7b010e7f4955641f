"""Healthy. A policy walks on a line of nine places, with a chance of one in five to slip. The return of an episode is
mostly noise and the loss has either sign; over the run the walks get shorter. The returned list is minus the mean
return."""

from collections.abc import Callable

import torch
from torch import nn

META = dict(
    id="fc_ok_noisy_returns",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    policy = nn.Sequential(nn.Embedding(9, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    history, baseline = [], 0.0
    with debug(policy):
        for _ in range(150):
            place = torch.randint(2, 7, (16,))
            log_probability, gain = torch.zeros(16), torch.zeros(16)
            for _tick in range(8):
                choice = torch.distributions.Categorical(logits=policy(place))
                action = choice.sample()
                slip = torch.rand(16) < 0.2
                move = torch.where(slip, -1, 1) * (2 * action - 1)
                place = (place + move).clamp(0, 8)
                log_probability = log_probability + choice.log_prob(action)
                gain = gain + (place == 8).float() + 0.5 * torch.randn(16)
            loss = -(log_probability * (gain - baseline)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            baseline = 0.9 * baseline + 0.1 * gain.mean().item()
            history.append(-gain.mean().item())
    return history
