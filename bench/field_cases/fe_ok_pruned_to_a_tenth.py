"""Healthy. Nine in ten weights are masked to zero from the start by torch's pruning and stay there; the rest learns."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_pruned_to_a_tenth",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    from torch.nn.utils import prune
    model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 5))
    for m in (model[0], model[2]):
        prune.random_unstructured(m, "weight", 0.9)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    mean = torch.randn(5, 20)
    losses = []
    with debug(model):
        for _ in range(350):
            y = torch.randint(0, 5, (48,))
            loss = F.cross_entropy(model(mean[y] + torch.randn(48, 20)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
