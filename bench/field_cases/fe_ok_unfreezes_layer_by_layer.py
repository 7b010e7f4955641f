"""Healthy. Gradual unfreezing of a trained encoder: the head first, the upper layer from step 80, the lower from step 160, each with a group of its own."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_unfreezes_layer_by_layer",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def data(mean, n):
    y = torch.randint(0, 6, (n,))
    return 0.9 * mean[y] + torch.randn(n, 14), y


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    mean = torch.randn(6, 14)
    low, high = nn.Sequential(nn.Linear(14, 48), nn.ReLU()), nn.Sequential(nn.Linear(48, 32), nn.ReLU())
    before = nn.Sequential(low, high, nn.Linear(32, 6))
    opt = torch.optim.Adam(before.parameters(), lr=3e-3)
    for _ in range(60):
        x, y = data(mean, 48)
        opt.zero_grad()
        F.cross_entropy(before(x), y).backward()
        opt.step()
    model = nn.Sequential(low, high, nn.Linear(32, 3))
    low.requires_grad_(False)
    high.requires_grad_(False)
    opt = torch.optim.AdamW(model[2].parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for step in range(260):
            if step == 80:
                high.requires_grad_(True)
                opt.add_param_group({"params": list(high.parameters()), "lr": 1e-3})
            if step == 160:
                low.requires_grad_(True)
                opt.add_param_group({"params": list(low.parameters()), "lr": 3e-4})
            x, y = data(mean, 32)
            loss = F.cross_entropy(model(x), y // 2)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
