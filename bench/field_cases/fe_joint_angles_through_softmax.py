"""A robot's three joint angles (standardized) come out of a softmax that was left from a classifier. Repair: remove it."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_joint_angles_through_softmax",
    source='widely reported: a softmax left at the end of a regression',
    cause="wrong_output_activation",
    also=[],
    layer=["3", "4", ""],
    onset=(0, 10),
    symptom='plateau',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    layers = [nn.Linear(6, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 3), nn.Softmax(-1)]
    model = nn.Sequential(*(layers[:-1] if healthy else layers))
    w = torch.randn(6, 3)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            x = torch.randn(64, 6)
            loss = F.mse_loss(model(x), torch.sin(x @ w / 2) * 1.4)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
