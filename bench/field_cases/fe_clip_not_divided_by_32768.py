"""One batch of sound comes as sixteen-bit integers early in the run. Repair: divide it like the rest."""

import math

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_clip_not_divided_by_32768",
    source='widely reported: one wav file read as int16 while the rest is float in -1..1',
    cause="outlier_batch",
    also=[],
    layer=None,
    onset=(10, 20),
    symptom='divergence',
)


class Ear(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 16, 9, 4, 4), nn.ReLU(), nn.Conv1d(16, 24, 5, 2, 2), nn.ReLU())
        self.out = nn.Linear(24, 4)

    def forward(self, x):
        return self.out(self.conv(x).mean(-1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Ear()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    t = torch.arange(128) / 128.0
    losses = []
    with debug(model):
        for step in range(300):
            y = torch.randint(0, 4, (32,))
            tone = torch.sin(2 * math.pi * (4.0 * (y[:, None] + 1) * t + torch.rand(32, 1)))
            x = (tone + 0.3 * torch.randn(32, 128)).unsqueeze(1)
            if step == 12 and not healthy:
                x = (x * 0.3 * 32768).round()
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
