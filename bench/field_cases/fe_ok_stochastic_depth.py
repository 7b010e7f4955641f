"""Healthy. Stochastic depth: in each step about half of the residual blocks are skipped and get no gradient in it."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_stochastic_depth",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(10, 32)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 32)) for _ in range(8))
        self.out = nn.Linear(32, 5)

    def forward(self, x):
        h = self.inp(x)
        for block in self.blocks:
            if not self.training or torch.rand(()) < 0.5:
                h = h + block(h)
        return self.out(h)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    mean = torch.randn(5, 3, 10)
    model = Deep()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            y = torch.randint(0, 5, (48,))
            x = 1.5 * mean[y, torch.randint(0, 3, (48,))] + 0.5 * torch.randn(48, 10)
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
