"""Healthy. The target's noise has heavy tails: single losses leap to ten times the usual one, and the Huber loss takes them. The list is the error to the clean curve."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_heavy_tails_under_huber",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    noise = torch.distributions.StudentT(1.2)
    errors = []
    with debug(model):
        for _ in range(400):
            x = torch.randn(64, 4)
            clean = 2 * torch.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3]
            out = model(x)
            loss = F.huber_loss(out, clean + 0.2 * noise.sample((64, 1)))
            opt.zero_grad()
            loss.backward()
            opt.step()
            errors.append(F.mse_loss(out, clean).item())
    return errors
