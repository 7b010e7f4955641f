"""A hand-written start multiplies by the root of the fan-in where it should divide: weights of about 6. Repair: divide."""

import math

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_spread_is_root_of_fan_in",
    source='widely reported: std=sqrt(fan_in) where 1/sqrt(fan_in) was meant',
    cause="init_too_large",
    also=[],
    layer=["lift", "mid", "out", ""],
    onset=(0, 0),
    symptom='slow',
)


class Mlp(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.lift, self.mid, self.out = nn.Linear(16, 48), nn.Linear(48, 48), nn.Linear(48, 6)
        for m in (self.lift, self.mid, self.out):
            root = math.sqrt(m.in_features)
            nn.init.normal_(m.weight, 0.0, 1 / root if healthy else root)

    def forward(self, x):
        return self.out(F.relu(self.mid(F.relu(self.lift(x)))))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Mlp(healthy)
    mean = torch.randn(6, 16)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            y = torch.randint(0, 6, (32,))
            loss = F.cross_entropy(model(0.8 * mean[y] + torch.randn(32, 16)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
