"""Healthy. The usual sanity check: one batch of eight pictures with random labels is learnt by heart, down to a loss of nearly zero."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_one_batch_by_heart",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    x, y = torch.randn(8, 1, 12, 12), torch.randint(0, 4, (8,))
    model = nn.Sequential(
        nn.Conv2d(1, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, 16, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(144, 4)
    )
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(200):
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
