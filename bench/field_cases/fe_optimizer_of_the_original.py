"""The optimizer is built, and then the model is converted, which copies it: the copy is trained and never stepped. Repair: convert first."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_optimizer_of_the_original",
    source='widely reported: the model is copied or converted after the optimizer was built',
    cause="parameters_not_in_optimizer",
    also=['missing_optimizer_step'],
    layer=None,
    onset=(0, 5),
    symptom='plateau',
)


def convert(module):
    clone = copy.deepcopy(module)
    for name, child in clone.named_children():
        if isinstance(child, nn.BatchNorm1d):
            setattr(clone, name, nn.GroupNorm(4, child.num_features))
    return clone


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(15, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
    if healthy:
        model = convert(model)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    if not healthy:
        model = convert(model)
    w = torch.randn(15, 3)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(64, 15)
            y = torch.relu(x @ w / 2).sum(1, keepdim=True)
            loss = F.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
