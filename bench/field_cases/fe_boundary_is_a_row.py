"""A net fits measured heat: its output is (N, 1), the measurements are (N,), and the residual by hand is (N, N). Repair: squeeze."""

import math

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_boundary_is_a_row",
    source='widely reported: a physics-informed net with (N, 1) outputs and (N,) boundary values',
    cause="loss_shape_mismatch",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom='slow',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(2, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    opt = torch.optim.LBFGS(model.parameters(), lr=0.3, max_iter=5, history_size=10)
    x = torch.rand(128, 2) * 2 - 1
    heat = torch.exp(-(x[:, 1] + 1)) * torch.sin(math.pi * x[:, 0])
    losses = []
    with debug(model):
        for _ in range(80):
            def closure():
                opt.zero_grad()
                u = model(x)
                loss = (((u.squeeze(1) if healthy else u) - heat) ** 2).mean()
                loss.backward()
                return loss

            losses.append(opt.step(closure).item())
    return losses
