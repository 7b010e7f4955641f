"""LeakyReLU's slope was set to 1.0 instead of 0.1: it is the identity and the net is linear. Repair: 0.1."""

import math

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_leak_of_one",
    source='widely reported: LeakyReLU(1.0), or PReLU started at one, is the identity',
    cause="missing_nonlinearity",
    also=[],
    layer=["0", "1", "2", "3", "4"],
    onset=(0, 5),
    symptom='plateau',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    slope = 0.1 if healthy else 1.0
    model = nn.Sequential(
        nn.Linear(2, 64), nn.LeakyReLU(slope), nn.Linear(64, 64), nn.LeakyReLU(slope), nn.Linear(64, 2)
    )
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(400):
            y = torch.randint(0, 2, (64,))
            r = 1.0 + 1.2 * y.float() + 0.15 * torch.randn(64)
            a = 2 * math.pi * torch.rand(64)
            loss = F.cross_entropy(model(torch.stack([r * a.cos(), r * a.sin()], 1)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
