"""The loop calls ema.zero_grad(), the averaged copy's, and never the model's. Repair: the model's."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_clears_the_average_not_the_model",
    source='widely reported: zero_grad of another model (the averaged copy)',
    cause="missing_zero_grad",
    also=[],
    layer=None,
    onset=(0, 60),
    symptom='divergence',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(12, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 3))
    ema = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    w = torch.randn(12, 3)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(32, 12)
            (model if healthy else ema).zero_grad()
            loss = F.smooth_l1_loss(model(x), torch.tanh(x @ w))
            loss.backward()
            opt.step()
            with torch.no_grad():
                for a, b in zip(ema.parameters(), model.parameters()):
                    a.lerp_(b, 0.02)
            losses.append(loss.item())
    return losses
