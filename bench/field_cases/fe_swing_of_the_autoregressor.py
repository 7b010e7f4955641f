"""A convolutional forecaster under SGD with Nesterov momentum of 0.999 at a rate that suits 0.9: the loss swings. Repair: 0.9."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_swing_of_the_autoregressor",
    source='widely reported: Nesterov momentum close to one, the loss swings',
    cause="excessive_momentum",
    also=['learning_rate_too_high'],
    layer=None,
    onset=(5, 100),
    symptom='oscillation',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv1d(1, 24, 3), nn.GELU(), nn.Conv1d(24, 24, 3, dilation=2), nn.GELU(), nn.Conv1d(24, 1, 3, dilation=2)
    )
    opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9 if healthy else 0.999, nesterov=True)
    t = torch.arange(24) * 0.5
    losses = []
    with debug(model):
        for _ in range(400):
            f = 0.6 + 0.8 * torch.rand(32, 1)
            w = (torch.sin(f * t + 6.28 * torch.rand(32, 1)) + 0.5 * torch.sin(2 * f * t)).unsqueeze(1)
            loss = F.mse_loss(model(w[..., :-1]), w[..., 11:])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
