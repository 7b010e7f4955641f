"""A critic regresses raw scores of some thousands under SGD with momentum, where Adam wouldn't mind. Repair: scale rewards by 1/3000."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_critic_of_returns_in_thousands",
    source='as in github.com/yandexdataschool/Practical_RL/issues/216',
    cause="unscaled_target",
    also=['learning_rate_too_high'],
    layer=None,
    onset=(0, 10),
    symptom='divergence',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    critic = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
    opt = torch.optim.SGD(critic.parameters(), lr=0.02, momentum=0.9)
    w = torch.randn(6)
    losses = []
    with debug(critic):
        for _ in range(400):
            s = torch.randn(64, 6)
            score = 3000 + 2500 * torch.tanh(s @ w) + 200 * torch.randn(64)
            value = critic(s).squeeze(1)
            loss = F.mse_loss(value, score / 3000 if healthy else score)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
