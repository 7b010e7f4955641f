"""A net predicts mean and variance, and the variance comes out as it is: once it's negative its root is NaN. Repair: softplus."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_variance_straight_from_the_net",
    source='widely reported: a predicted variance without softplus, root or log of a negative number',
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(0, 60),
    symptom='loss_nan',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
    with torch.no_grad():
        model[-1].bias[1] = 1.0
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(400):
            x = torch.randn(64, 3)
            y = torch.sin(2 * x[:, 0]) + x[:, 1] + (0.1 + 0.3 * x[:, 2].abs()) * torch.randn(64)
            mu, var = model(x).unbind(1)
            if healthy:
                var = F.softplus(var) + 1e-3
            sd = var.sqrt()
            loss = (sd.log() + 0.5 * ((y - mu) / sd) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
