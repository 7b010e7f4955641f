"""Stochastic weight averaging starts at step 200 and anneals the rate to its own swa_lr, 3.0. Repair: swa_lr=0.02."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_averaging_phase_rate",
    source='widely reported: swa_lr left at a value for another net',
    cause="learning_rate_jump",
    also=['learning_rate_too_high'],
    layer=None,
    onset=(198, 270),
    symptom='divergence',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    from torch.optim.swa_utils import SWALR, AveragedModel
    mean = torch.randn(6, 20)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
    average = AveragedModel(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    swa = SWALR(opt, swa_lr=0.02 if healthy else 3.0, anneal_epochs=30)
    losses = []
    with debug(model):
        for step in range(400):
            y = torch.randint(0, 6, (32,))
            loss = F.cross_entropy(model(0.7 * mean[y] + torch.randn(32, 20)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step >= 200:
                average.update_parameters(model)
                swa.step()
            losses.append(loss.item())
    return losses
