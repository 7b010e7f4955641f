"""Healthy. Quantile regression: (B, 5) quantiles against (B, 1) targets on purpose; the pinball loss ends where the noise lets it."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_quantiles_broadcast",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    q = torch.tensor([0.05, 0.25, 0.5, 0.75, 0.95])
    model = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(400):
            x = torch.randn(128, 3)
            y = 2 * x[:, :1] + torch.sin(2 * x[:, 1:2]) + 0.3 * torch.randn(128, 1)
            miss = y - model(x)
            loss = torch.maximum(q * miss, (q - 1) * miss).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
