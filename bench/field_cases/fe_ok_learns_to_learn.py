"""Healthy. Meta-learning by hand: two inner steps by autograd.grad and torch.func.functional_call; each task starts anew, so that the loss is noisy."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_learns_to_learn",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            total = 0.0
            for _ in range(4):
                height, phase = 0.5 + 1.5 * torch.rand(()), 0.8 * torch.rand(())
                x = 4 * torch.rand(20, 1) - 2
                y = height * torch.sin(x * 1.5 + phase)
                w = dict(model.named_parameters())
                for _ in range(2):
                    inner = F.mse_loss(torch.func.functional_call(model, w, (x[:10],)), y[:10])
                    g = torch.autograd.grad(inner, list(w.values()), create_graph=True)
                    w = {k: p - 0.05 * d for (k, p), d in zip(w.items(), g)}
                total = total + F.mse_loss(torch.func.functional_call(model, w, (x[10:],)), y[10:]) / 4
            opt.zero_grad()
            total.backward()
            opt.step()
            losses.append(total.item())
    return losses
